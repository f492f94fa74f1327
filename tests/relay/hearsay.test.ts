/** What relays tell each other: soon, whatever it is, and what came together in one piece. */
import { expect, test } from 'vitest';
import { createHearsay, type Hearsay } from '../../server/relay/routing/hearsay.ts';

function listening() {
  const told: Hearsay[] = [];
  const timers: (() => void)[] = [];
  const hearsay = createHearsay(
    (news) => void told.push(news),
    (_ms, done) => timers.push(done),
  );
  return { told, timers, hearsay, passes: () => timers.shift()?.() };
}
const word = { channelId: 7 } as Parameters<ReturnType<typeof createHearsay>['channel']>[0];
const kept = {} as Parameters<ReturnType<typeof createHearsay>['kept']>[1];

test.each([
  [
    'a channel',
    (one: ReturnType<typeof listening>) => one.hearsay.channel(word),
    { channels: [word], served: [], kept: [] },
  ],
  [
    'who served',
    (one: ReturnType<typeof listening>) => one.hearsay.served('c', 7),
    { channels: [], served: [['c', 7]], kept: [] },
  ],
  [
    'what is kept',
    (one: ReturnType<typeof listening>) => one.hearsay.kept('id', kept),
    { channels: [], served: [], kept: [['id', kept]] },
  ],
] as const)('%s alone is told, once', (_name, say, news) => {
  const one = listening();
  say(one);
  expect(one.told).toEqual([]);
  one.passes();
  expect(one.told).toEqual([news]);
  expect(one.timers).toHaveLength(0);
});

test('what comes before the timer ends is told together, what comes after it anew', () => {
  const one = listening();
  one.hearsay.channel(word);
  one.hearsay.served('c', 7);
  one.hearsay.served('c', 8);
  expect(one.timers).toHaveLength(1);
  one.passes();
  expect(one.told).toEqual([{ channels: [word], served: [['c', 8]], kept: [] }]);
  one.hearsay.kept('id', kept);
  one.passes();
  expect(one.told.at(-1)).toEqual({ channels: [], served: [], kept: [['id', kept]] });
});
