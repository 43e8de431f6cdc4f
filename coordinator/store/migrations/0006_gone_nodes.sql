-- Nodes that are none any more: shut out (why, in words), or forgotten by an admin (the row stays for
-- the runs that ran there).
ALTER TABLE nodes ADD COLUMN revoked TEXT NOT NULL DEFAULT '';
ALTER TABLE nodes ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;

UPDATE nodes SET revoked =
  (SELECT 'revoked by ' || c.revoked_by || iif(c.reason = '', '', ': ' || c.reason)
   FROM certificates AS c
   WHERE c.role = 'worker' AND c.name = nodes.name AND c.revoked_at IS NOT NULL
   ORDER BY c.revoked_at DESC LIMIT 1)
WHERE EXISTS (SELECT 1 FROM certificates AS c
              WHERE c.role = 'worker' AND c.name = nodes.name AND c.revoked_at IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM certificates AS c
                  WHERE c.role = 'worker' AND c.name = nodes.name AND c.revoked_at IS NULL
                    AND c.expires_at > unixepoch() * 1000000);
