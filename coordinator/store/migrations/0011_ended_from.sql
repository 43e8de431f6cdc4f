-- How early a rank may have ended, so that a coordinator that is started again judges alike.
ALTER TABLE ranks ADD COLUMN ended_from INTEGER;
