/** How long the money engine waits between two tries of a write that failed. */
import { expect, test } from 'vitest';
import { LedgerEngine } from '../../server/billing/ledger/engine.ts';
import { VirtualTime } from '../support/virtual-time.ts';

const engineOver = (store: object, timers: VirtualTime): LedgerEngine =>
  new LedgerEngine({
    store: { probe: () => undefined, checkpoint: () => undefined, ...store } as never,
    onBalance: () => undefined,
    onHealth: () => undefined,
    timers,
  });

test('each try of an outage waits longer, and the next outage begins again with the shortest', async () => {
  const time = new VirtualTime();
  let broken = 0;
  let tries: number[] = [];
  const store = {
    apply(commands: readonly { readonly ref: string }[]) {
      tries.push(time.monoNow());
      if (broken-- > 0) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
      return { results: commands.map(() => ({ status: 'done' })), events: [] };
    },
    isInvalidCommand: () => false,
  };
  const engine = engineOver(store, time);
  /** @returns milliseconds between its tries. */
  const outage = async (failures: number): Promise<readonly number[]> => {
    broken = failures;
    tries = [];
    let isOver = false;
    engine.submit({ type: 'settle', ref: 'r' } as never, () => {
      isOver = true;
    });
    while (!isOver) await time.advance(1);
    await engine.drain();
    return tries.slice(1).map((at, index) => at - (tries[index] ?? 0));
  };
  expect(await outage(3)).toEqual([10, 20, 40]);
  expect(await outage(2)).toEqual([10, 20]);
  expect((await outage(9)).slice(-2)).toEqual([1000, 1000]);
});

test.each([
  ['the books go on', false, ['odd', 'later']],
  ['the disk fails meanwhile', true, ['good', 'odd', 'later']],
])(
  'a settlement that the books refuse for what it says stays before what came meanwhile: %s',
  async (_name, fails, rest) => {
    const time = new VirtualTime();
    const batches: string[][] = [];
    let isOver = 0;
    const submit = (ref: string) => engine.submit({ type: 'settle', ref } as never, () => void isOver++);
    const store = {
      apply(commands: readonly { readonly ref: string }[]) {
        const refs = commands.map(({ ref }) => ref);
        batches.push(refs);
        if (refs.length === 1 && refs[0] === 'odd' && batches.length < 4) submit('later');
        if (refs[0] === 'good' && fails && batches.length === 3) throw new Error('disk I/O error');
        if (refs.includes('odd') && batches.length < 4) throw Object.assign(new Error('odd'), { code: 'ODD' });
        return { results: commands.map(() => ({ status: 'done' })), events: [] };
      },
      isInvalidCommand: (error: { readonly code?: string }) => error.code === 'ODD',
    };
    const engine = engineOver(store, time);
    submit('odd');
    submit('good');
    while (isOver < 3) await time.advance(1);
    await engine.drain();
    expect(batches.slice(0, 3)).toEqual([['odd', 'good'], ['odd'], ['good']]);
    expect(batches.slice(3).flat()).toEqual(rest);
  },
);
