/** The control thread, which notices sooner that a relay stands still. */
import './short-stalls.ts';
import '../../server/threads/control/worker.ts';
