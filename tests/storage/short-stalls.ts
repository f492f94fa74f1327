/** A thread that stands still is noticed sooner, for tests that ask for it: nobody waits ten seconds. */
import { stallLimits } from '../../server/threads/relay/pulse.ts';

const short = Number(process.env.TEST_STALL_MS ?? 0);
if (short > 0) Object.assign(stallLimits, { reportMs: short, replaceMs: 2 * short, lookMs: 50 });
