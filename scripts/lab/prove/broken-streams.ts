/** A channel that breaks every stream after four chunks beside a healthy one, and one whose connections end at reuse; options as they are shipped. */
import type { Goal } from '../bench/goal.ts';
import { ask, chunk, double, frame, lastFrames, streamHead, wholeAnswer } from './double.ts';
import { flag, maxGoal, minGoal, openSite } from './site.ts';

export async function brokenStreams(args: readonly string[]): Promise<readonly Goal[]> {
  const requests = flag(args, '--requests', 300);
  const words = ['one ', 'two ', 'three ', 'four '].map((word) => chunk(frame(word))).join('');
  const breaking = () =>
    double((socket) => {
      socket.write(streamHead + words);
      // A reset would overtake the words.
      setTimeout(() => socket.end(), 20);
    });
  const sound = () => double((socket) => socket.write(`${streamHead}${words}${chunk(lastFrames)}0\r\n\r\n`));
  const pairs = { distinct: [breaking(), sound()], same: [breaking(), sound()] } as const;
  const closing = double((socket) => (socket.data.before > 0 ? socket.terminate() : socket.write(wholeAnswer)));
  const site = await openSite([
    ...Object.entries(pairs).flatMap(([models, [bad, good]]) => [
      { name: `breaks-${models}`, url: bad.url, models },
      { name: `sound-${models}`, url: good.url, models },
    ]),
    { name: 'closing', url: closing.url, models: 'closing' },
  ]);
  const goals: Goal[] = [];
  for (const [model, [bad, good]] of Object.entries(pairs)) {
    let answered = 0;
    for (let n = 0; n < requests; n++) {
      const { whole } = await ask(site, model, model === 'same' ? 'talk' : `talk ${n}`, true);
      if (n >= 10 && whole) answered++;
    }
    goals.push(minGoal(`${model}: answered after the first 10`, (answered / (requests - 10)) * 100, 99, '%'));
    goals.push(
      maxGoal(`${model}: upstream calls per request`, (bad.requested() + good.requested()) / requests, 1.1, ''),
    );
  }
  const reused = flag(args, '--reused', 2000);
  const statuses: number[] = [];
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      while (statuses.length < reused) {
        const at = statuses.push(0) - 1;
        statuses[at] = (await ask(site, 'closing', 'hi', false)).status;
      }
    }),
  );
  goals.push(maxGoal(`ends at reuse: not 200 of ${reused}`, statuses.filter((status) => status !== 200).length, 0, ''));
  // Ends with an error where anything does not add up.
  await site.run(['ledger', 'verify']);
  site.remove();
  return goals;
}
