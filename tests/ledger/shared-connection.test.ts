/** The keeper's one connection: what it does there takes several steps, and several things are done at once. */
import { expect, test } from 'vitest';
import type { Line } from '../../db/postgres/line.ts';
import { createNodeHeartbeat } from '../../server/cluster/heartbeat.ts';

/** A server that answers in a while, and finds a node that is gone whenever it is asked. */
function slowLine(messages: string[]): Line {
  return {
    broken: false,
    wasLocal: () => false,
    close: () => undefined,
    async send(statements) {
      messages.push(...statements.map(({ text }) => text));
      await Bun.sleep(1);
      return statements.map(({ text }) => ({
        rows: text.startsWith('SELECT epoch FROM nodes') ? [{ epoch: 7 }] : [],
        command: '',
      }));
    },
  };
}

test('no transaction begins inside of another, and nothing that is said alone gets into one', async () => {
  const messages: string[] = [];
  const quiet = () => undefined;
  const keeper = createNodeHeartbeat({
    connect: async () => slowLine(messages),
    name: 'n',
    epoch: () => 7,
    beat: async () => undefined,
    unavailable: () => false,
    cleanup: quiet,
    submit: async () => ({ status: 'done' }),
    print: quiet,
    drain: quiet,
  });
  keeper.start();
  keeper.stop();
  await Promise.all([keeper.leave(false), keeper.limits(1, null), keeper.recoverOwnEpochs()]);
  let open = false;
  for (const text of messages) {
    const isAlone = /left_at|used_quota AS used/.test(text);
    if (text === 'BEGIN' || isAlone) expect([text, open]).toEqual([text, false]);
    if (text === 'BEGIN') open = true;
    if (text === 'COMMIT' || text === 'ROLLBACK') open = false;
  }
  expect(messages.filter((text) => text === 'BEGIN').length).toBeGreaterThan(3);
  expect(messages.filter((text) => text.includes('left_at'))).toHaveLength(1);
});
