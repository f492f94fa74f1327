/** What the store on PostgreSQL does when a connection, a commit or its own number is in doubt: over a server on paper. */
import { expect, test } from 'vitest';
import { PostgresLedger, type PostgresLedgerDeps } from '../../db/ledger/postgres/store.ts';
import type { Answer, Line } from '../../db/postgres/line.ts';
import type { SeqMark } from '../../db/postgres/nodes.ts';
import type { LedgerCommand } from '../../server/billing/ledger/commands.ts';
import { grant } from './support.ts';

const failing = (code: string, severity?: string) =>
  Object.assign(new Error(`no ${code}`), { code, ...(severity === undefined ? {} : { severity }) });

/** A server with one row for each node, which does as it is told at its next statements. */
function bench(more: Partial<PostgresLedgerDeps> = {}) {
  const said: string[] = [];
  const rows = new Map<number, { run: string; seq: number; state: string }>();
  /** By a part of the statement: what happens instead, once. */
  const next: { readonly at: string; readonly fate: 'lost' | 'lost after' | 'local' | 'other command' | Error }[] = [];
  let connections = 0;
  let open: { seq: number; epoch: number } | null = null;
  const connect = async (): Promise<Line> => {
    const number = ++connections;
    said.push(`connects ${number}`);
    let broken = false;
    let local = false;
    const answerOf = (text: string, values: readonly unknown[] = []): Answer => {
      const named = (text
        .split(' ', 3)
        .join(' ')
        .replace(/\s+/g, ' ')
        .match(/^\w+( INTO)?( \w+)?/) ?? [''])[0];
      said.push(
        `${number} ${named}${/^(UPDATE nodes|INSERT INTO nodes)/.test(text) ? ` ${JSON.stringify(values)}` : ''}`,
      );
      const at = next.findIndex((one) => text.includes(one.at));
      const fate = at < 0 ? undefined : next.splice(at, 1)[0]?.fate;
      if (fate instanceof Error) throw fate;
      if (fate === 'lost') {
        open = null;
        broken = true;
        throw new Error('Connection terminated unexpectedly');
      }
      if (text.startsWith('INSERT INTO nodes')) {
        const epoch = rows.size + 1;
        rows.set(epoch, { run: String(values[1]), seq: 0, state: 'live' });
        return { rows: [{ epoch }], command: 'INSERT' };
      }
      if (text.startsWith('SELECT run, seq FROM nodes'))
        return { rows: [...rows.values()].map(({ run, seq }) => ({ run, seq })), command: 'SELECT' };
      if (text.startsWith('UPDATE nodes SET seq')) {
        const [seq, epoch] = values as [number, number];
        const row = rows.get(epoch);
        const fits = row !== undefined && row.state !== 'expired' && row.seq === seq - 1;
        if (fits) open = { seq, epoch };
        return { rows: fits ? [{ seq }] : [], command: 'UPDATE' };
      }
      if (text.startsWith('UPDATE nodes SET expires_at')) {
        const row = rows.get(Number(values[0]));
        return { rows: row === undefined ? [] : [{ seq: row.seq, state: row.state }], command: 'UPDATE' };
      }
      if (text === 'ROLLBACK') open = null;
      if (text === 'COMMIT') {
        const row = open === null ? undefined : rows.get(open.epoch);
        if (row !== undefined && open !== null) row.seq = open.seq;
        open = null;
        if (fate === 'lost after') {
          broken = true;
          throw new Error('Connection terminated unexpectedly');
        }
        if (fate === 'local') local = true;
        if (fate === 'other command') return { rows: [], command: 'ROLLBACK' };
        return { rows: [], command: 'COMMIT' };
      }
      return { rows: [], command: '' };
    };
    return {
      send: async (statements) => statements.map(({ text, values }) => answerOf(text, values)),
      get broken() {
        return broken;
      },
      wasLocal() {
        const was = local;
        local = false;
        return was;
      },
      close() {
        broken = true;
        said.push(`${number} closes`);
      },
    };
  };
  let runs = 0;
  const kept = new Map<string, readonly LedgerCommand[]>();
  const keyOf = ({ epoch, run, seq }: SeqMark) => `${epoch} ${run} ${seq}`;
  const store = new PostgresLedger({
    connect,
    node: { name: 'n', version: 'v', schema: 's' },
    acknowledged: {
      keep: (mark, commands) => void kept.set(keyOf(mark), commands),
      discard: (mark) => void said.push(`discards ${keyOf(mark)}: ${kept.delete(keyOf(mark))}`),
      since: () => [],
      markResent: (mark) => void said.push(`resent ${keyOf(mark)}`),
      marks: () => [],
    },
    sign: () => () => void said.push('signs'),
    onEpoch: (epoch) => void said.push(`is number ${epoch}`),
    onUnlisted: (commands, done) => {
      said.push(`has to send ${commands.length} again`);
      done();
    },
    onConnectionError: (error) => void said.push(`connection: ${error === null ? 'again' : (error as Error).message}`),
    newRun: () => `run ${++runs}`,
    now: () => 5,
    monoNow: () => 0,
    ...more,
  });
  const took = (): string[] => said.splice(0);
  const outcome = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: Error) => `${store.isUncertain(error) ? 'uncertain: ' : ''}${error.message}`,
    );
  return { store, rows, next, kept, took, outcome };
}

const one = [grant('a', 1, 5)];
const other = [grant('b', 1, 5)];

test('one number after the other, kept before it is committed', async () => {
  const { store, kept, took, outcome } = bench();
  expect(store.epoch()).toBe(0);
  expect(await outcome(store.apply(one))).toBe('done');
  const first = took();
  expect(first.slice(0, 5)).toEqual([
    'connects 1',
    '1 INSERT INTO nodes ["n","run 1","v","s",5,15]',
    '1 INSERT INTO meta',
    '1 SELECT run',
    'is number 1',
  ]);
  expect(first).toContain('1 UPDATE nodes [1,1,"run 1",15]');
  expect(first.slice(-2)).toEqual(['1 COMMIT', 'signs']);
  expect([...kept.keys()]).toEqual(['1 run 1 1']);
  expect(await outcome(store.apply(one))).toBe('done');
  expect(took()).toContain('1 UPDATE nodes [2,1,"run 1",15]');
  await store.probe();
  expect([...kept.keys()]).toEqual(['1 run 1 1', '1 run 1 2']);
  expect([store.epoch(), store.unavailable()]).toEqual([1, false]);
  store.close();
  expect(took().at(-1)).toBe('1 closes');
});

test('a commit without an answer that was done is not done again for the same commands, and is for others', async () => {
  const { store, next, took, outcome, rows } = bench();
  await store.probe();
  next.push({ at: 'COMMIT', fate: 'lost after' });
  expect(await outcome(store.apply(one))).toMatch(/^uncertain: /);
  took();
  expect(await outcome(store.apply(one))).toBe('done');
  expect(took().filter((line) => !/signs/.test(line))).toEqual([
    '1 closes',
    'connects 2',
    '2 BEGIN',
    '2 SELECT set_config',
    '2 UPDATE nodes [1,"run 1",15]',
    '2 COMMIT',
  ]);
  expect(rows.get(1)?.seq).toBe(2);
  next.push({ at: 'COMMIT', fate: 'lost after' });
  await outcome(store.apply(one));
  expect(await outcome(store.apply(other))).toBe('done');
  expect(rows.get(1)?.seq).toBe(4);
  // What came of it is known until others come: then the books themselves know what they have had.
  expect(await outcome(store.apply(one))).toBe('done');
  expect(rows.get(1)?.seq).toBe(5);
});

test('a commit whose answer was lost and that was not done is done when it is sent again', async () => {
  const { store, next, took, outcome, rows, kept } = bench();
  await store.probe();
  next.push({ at: 'COMMIT', fate: 'lost' });
  expect(await outcome(store.apply(one))).toMatch(/^uncertain: /);
  expect(kept.size).toBe(1);
  took();
  expect(await outcome(store.apply(one))).toBe('done');
  expect(took()).toContain('discards 1 run 1 2: true');
  expect(rows.get(1)?.seq).toBe(2);
});

test('one that is on one disk alone, and one that ended otherwise, are uncertain', async () => {
  const { store, next, took, outcome } = bench();
  await store.probe();
  next.push({ at: 'COMMIT', fate: 'local' });
  expect(await outcome(store.apply(one))).toMatch(/^uncertain: /);
  expect(took()).toContain('1 closes');
  expect(await outcome(store.apply(one))).toBe('done');
  next.push({ at: 'COMMIT', fate: 'other command' });
  expect(await outcome(store.apply(other))).toMatch(/^uncertain: /);
  // Two disks have to confirm what a new connection finds.
  next.push({ at: 'COMMIT', fate: 'local' });
  const doubted = store.apply(other).catch((error: Error) => String((error.cause as Error).message));
  expect(await doubted).toMatch(/standby|confirm/i);
  expect(await outcome(store.apply(other))).toBe('done');
});

test('a node that was declared gone writes nothing under its number, and begins under another', async () => {
  const { store, rows, took, outcome } = bench();
  await store.probe();
  const row = rows.get(1);
  if (row !== undefined) row.state = 'expired';
  took();
  expect(await outcome(store.apply(one))).toMatch(/gone|declared/);
  expect(took().slice(-2)).toEqual(['1 ROLLBACK', '1 closes']);
  expect(await outcome(store.apply(one))).toBe('done');
  expect(took()).toEqual(expect.arrayContaining(['connects 2', 'is number 2', '2 UPDATE nodes [1,2,"run 2",15]']));
  expect(store.epoch()).toBe(2);
  await expect(store.move([], 1)).rejects.toThrow('another number');
  expect(await outcome(store.move([], 2))).toBe('done');
});

test('a server that has lost confirmed rows makes its node begin anew', async () => {
  const { store, rows, next, took, outcome } = bench();
  await store.apply(one);
  await store.apply(other);
  const row = rows.get(1);
  if (row !== undefined) row.seq = 1;
  next.push({ at: 'set_config', fate: 'lost' });
  await outcome(store.probe());
  took();
  expect(await outcome(store.apply([grant('c', 1, 1)]))).toBe('done');
  expect(took()).toContain('is number 2');
});

test('a node that loses a collision tries again with the same number, six times at most', async () => {
  const { store, next, took, outcome, rows } = bench();
  await store.probe();
  for (const code of ['40001', '40P01', '55P03', '23505', '0A000'])
    next.push({ at: 'FOR UPDATE', fate: failing(code, 'ERROR') });
  expect(await outcome(store.apply(one))).toBe('done');
  expect(took().filter((line) => line.includes('[2,1,')).length).toBe(6);
  expect(rows.get(1)?.seq).toBe(2);
  for (let n = 0; n < 6; n++) next.push({ at: 'FOR UPDATE', fate: failing('40001', 'ERROR') });
  expect(await outcome(store.apply(one))).toBe('no 40001');
  expect(took().filter((line) => line.endsWith('ROLLBACK')).length).toBe(6);
  next.push({ at: 'FOR UPDATE', fate: failing('22003', 'ERROR') });
  expect(await outcome(store.apply(one))).toBe('no 22003');
  expect(took().filter((line) => line.includes('[3,1,')).length).toBe(1);
});

test('a commit whose rows cannot be kept beside the node does not happen', async () => {
  const quiet = { discard: () => undefined, since: () => [], markResent: () => undefined, marks: () => [] };
  const { store, rows, took, outcome } = bench({
    acknowledged: {
      ...quiet,
      keep: () => {
        throw new Error('disk full');
      },
    },
  });
  expect(await outcome(store.apply(one))).toBe('disk full');
  expect(took().at(-1)).toBe('1 ROLLBACK');
  expect(rows.get(1)?.seq).toBe(0);
});

test('rows of earlier starts that the server lost are sent again, and that is noted', async () => {
  const marks: SeqMark[] = [
    { epoch: 7, run: 'former', seq: 3 },
    { epoch: 8, run: 'run 1', seq: 0 },
  ];
  const resent: SeqMark[] = [];
  const { store, took } = bench({
    acknowledged: {
      keep: () => undefined,
      discard: () => undefined,
      since: () => one,
      markResent: (mark) => void resent.push(mark),
      marks: () => marks,
    },
  });
  await store.probe();
  expect(took()).toContain('has to send 1 again');
  expect(resent).toEqual([{ epoch: 7, run: 'former', seq: 0, had: 3 }]);
});

test('the connection is told once when it goes and once when it is back', async () => {
  let gone = true;
  const { store, took, outcome } = bench({
    connect: async () => {
      if (gone) throw failing('ECONNREFUSED');
      throw failing('57P03', 'FATAL');
    },
  });
  for (let n = 0; n < 2; n++) expect(await outcome(store.probe())).toBe('no ECONNREFUSED');
  gone = false;
  await outcome(store.probe());
  expect(took()).toEqual(['connection: no ECONNREFUSED']);
  expect(store.unavailable()).toBe(true);
});

test.each([
  ['22003', true],
  ['23514', true],
  ['40001', false],
  ['08006', false],
  ['', false],
])('%s is about the command: %s', (code, is) => expect(bench().store.isInvalidCommand(failing(code))).toBe(is));

test('messages of a server that answers stay, of one that goes away they do not', () => {
  const { store } = bench();
  const isOwn = (error: unknown) => store.reasonOf(error) === null;
  expect(
    [failing('22003', 'ERROR'), failing('57P01', 'FATAL'), failing('08006', 'FATAL'), failing('22003'), null].map(
      isOwn,
    ),
  ).toEqual([true, false, false, false, false]);
});
