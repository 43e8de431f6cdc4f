"""Several clients at once, as many times as wanted."""

import concurrent.futures

AT_ONCE = 4


def crowd(times, act):
    """What `act` gives, in the order of its calls. Whoever is interrupted starts no more of them."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        calls = [pool.submit(act) for _ in range(times)]
        try:
            return [call.result() for call in calls]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
