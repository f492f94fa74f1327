/** Opens the console again and again, without waiting for the last page; in a process of its own. */

import { distributionOf, watchLoop } from './distribution.ts';
import type { ReaderOrder, ReaderReport } from './messages.ts';

const { url, everyMs } = JSON.parse(process.argv[2] ?? '') as ReaderOrder;
const times: number[] = [];
let failed = 0;
const lateness = watchLoop();
const check = async () => {
  const startedAt = performance.now();
  const isWell = await fetch(url).then(
    async (response) => (await response.arrayBuffer()).byteLength > 0 && response.ok,
    () => false,
  );
  if (isWell) times.push(performance.now() - startedAt);
  else failed++;
};
await check();
const looks = setInterval(() => void check(), everyMs);
process.on('message', () => {
  clearInterval(looks);
  process.send?.({
    requested: times.length + failed,
    failed,
    times: distributionOf(times),
    lateness: lateness(),
  } satisfies ReaderReport);
});
process.send?.({ ready: true });
