/** The upstream of the proof of overload, in a process of its own. */
import { double, wholeAnswer } from '../double.ts';
import { watchLoop } from './distribution.ts';
import type { UpstreamOrder, UpstreamReady, UpstreamReport } from './messages.ts';

const { delayMs } = JSON.parse(process.argv[2] ?? '') as UpstreamOrder;
const slow = double((socket) => setTimeout(() => socket.write(wholeAnswer), delayMs));
const instant = double((socket) => socket.write(wholeAnswer));
const lateness = watchLoop();
let reported = 0;
process.on('message', () => {
  const requested = slow.requested() + instant.requested();
  process.send?.({ requested: requested - reported, lateness: lateness() } satisfies UpstreamReport);
  reported = requested;
});
process.send?.({ slow: slow.url, instant: instant.url } satisfies UpstreamReady);
