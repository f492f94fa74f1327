/** A node's row: its number, its life by the database's clock, and what becomes of what it leased when that is over. */

import { setTimeout as pause } from 'node:timers/promises';
import type { StoredHold } from '../../server/billing/ports.ts';
import { reasonText } from '../../server/contract/storage-reasons.ts';
import { sumsFromKey } from '../log-sums.ts';
import { numbers } from './arrays.ts';
import type { Line, Statement } from './line.ts';

export interface Fence {
  readonly epoch: number;
  readonly run: string;
}

/** Where a node does not say for how long its leases last. */
export const defaultLeaseSeconds = 15;
/** Clocks, and messages on their way. */
export const graceSeconds = 5;
/** The longest request; what was set aside for one that never ended is free after that. */
export const maxRequestSeconds = 600;

const settings: Statement = {
  text: `SELECT ${Object.entries({
    // Whatever the server's default is: a response means that the commit is durable.
    synchronous_commit: 'on',
    // A node that hangs in the middle of a transaction must not stop the others.
    idle_in_transaction_session_timeout: '5s',
    lock_timeout: '10s',
    statement_timeout: '30s',
    // Every statement finds its rows by their key: one plan is good for any number of them, and was not made for an empty table.
    plan_cache_mode: 'force_generic_plan',
    enable_seqscan: 'off',
    // A query without an index is priced like a forbidden scan, and would be compiled for that.
    jit: 'off',
  })
    .map(([name, value]) => `set_config('${name}', '${value}', true)`)
    .join(', ')}`,
};

/** By the database's clock; the node itself stops three seconds earlier by its own. */
const expiryIn = (parameter: string): string => `clock_timestamp() + make_interval(secs => ${parameter})`;

/** The last of its answers has no row when the node may not write, or when the number has been used. @param leaseSeconds until its leases end. */
export const startNode = ({ epoch, run }: Fence, seq: number, leaseSeconds: number): readonly Statement[] => [
  { text: 'BEGIN' },
  settings,
  {
    text: `UPDATE nodes SET seq = $1, expires_at = ${expiryIn('$4')} WHERE epoch = $2 AND run = $3 AND state <> 'expired' AND seq = $1 - 1 RETURNING seq`,
    values: [seq, epoch, run, leaseSeconds],
  },
];

export interface Found {
  readonly seq: number;
  readonly alive: boolean;
}

/** Waits for whatever an earlier connection has begun, and for every disk that has to confirm. */
export async function inspect(line: Line, { epoch, run }: Fence, leaseSeconds: number): Promise<Found> {
  line.wasLocal();
  const answers = await line.send([
    { text: 'BEGIN' },
    settings,
    {
      text: `UPDATE nodes SET expires_at = CASE state WHEN 'expired' THEN expires_at ELSE ${expiryIn('$3')} END WHERE epoch = $1 AND run = $2 RETURNING seq, state`,
      values: [epoch, run, leaseSeconds],
    },
    { text: 'COMMIT' },
  ]);
  if (line.wasLocal()) throw new Error(reasonText('standby_silent'));
  const row = answers.at(-2)?.rows[0] as { seq: number; state: string } | undefined;
  return row === undefined ? { seq: 0, alive: false } : { seq: row.seq, alive: row.state !== 'expired' };
}

export interface NodeStart {
  readonly name: string;
  readonly run: string;
  readonly version: string;
  readonly schema: string;
  readonly now: number;
  readonly leaseSeconds: number;
}

export type SeqMark = Fence & { readonly seq: number };

/** @param marks what earlier starts of this node had confirmed. @returns the new number, and the marks that the database is behind of, with what it has. */
export async function begin(
  line: Line,
  { name, run, version, schema, now, leaseSeconds }: NodeStart,
  marks: readonly SeqMark[],
): Promise<{ readonly epoch: number; readonly behind: readonly SeqMark[] }> {
  const [inserted, , found] = await line.send([
    {
      text: `INSERT INTO nodes (node, run, version, schema, expires_at, started_at) VALUES ($1, $2, $3, $4, ${expiryIn('$6')}, $5) RETURNING epoch`,
      values: [name, run, version, schema, now, leaseSeconds],
    },
    {
      // From the next whole hour on, and not while a node of an earlier version writes rows that it adds up nowhere.
      text: `INSERT INTO meta (key, value) SELECT '${sumsFromKey}', ((extract(epoch FROM clock_timestamp())::bigint / 3600 + 1) * 3600)::text
        WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE state <> 'expired' AND expires_at > clock_timestamp() AND schema <> $1) ON CONFLICT DO NOTHING`,
      values: [schema],
    },
    {
      text: 'SELECT run, seq FROM nodes WHERE epoch = ANY($1::bigint[])',
      values: [numbers(marks.map(({ epoch }) => epoch))],
    },
  ]);
  const there = new Map((found?.rows ?? []).map(({ run: of, seq }) => [of as string, seq as number]));
  const behind = marks
    .map((mark) => ({ ...mark, seq: there.get(mark.run) ?? 0, had: mark.seq }))
    .filter(({ seq, had }) => seq < had);
  return { epoch: inserted?.rows[0]?.epoch as number, behind };
}

/**
 * Nodes whose life is over lose what they had leased, but for what their open requests hold. @param force epochs that are known
 * to be gone, such as those of an earlier start of this very node. @returns those that were declared gone now.
 */
export async function expireNodes(line: Line, force: readonly number[] = []): Promise<number[]> {
  const answers = await line.send([
    { text: 'BEGIN' },
    settings,
    {
      text: `SELECT epoch FROM nodes WHERE state <> 'expired'
        AND (expires_at < clock_timestamp() - interval '${graceSeconds} s' OR epoch = ANY($1::bigint[])) ORDER BY epoch FOR UPDATE`,
      values: [numbers(force)],
    },
  ]);
  const epochs = (answers.at(-1)?.rows ?? []).map(({ epoch }) => epoch as number);
  if (epochs.length === 0) {
    await line.send([{ text: 'ROLLBACK' }]);
    return [];
  }
  const list = numbers(epochs);
  await line.send([
    { text: "UPDATE nodes SET state = 'expired' WHERE epoch = ANY($1::bigint[])", values: [list] },
    ...lockLeased(list),
    ...(['account', 'token'] as const).flatMap((kind) => release(kind, list, true)),
    ...keepHeldOfBudgets(list),
    { text: 'COMMIT' },
  ]);
  return epochs;
}

/** In the order of all. */
const lockLeased = (epochs: string): Statement[] => [
  {
    text: "SELECT id FROM accounts WHERE id IN (SELECT subject FROM leases WHERE kind = 'account' AND epoch = ANY($1::bigint[])) ORDER BY id FOR UPDATE",
    values: [epochs],
  },
  {
    text: "SELECT id FROM tokens WHERE id IN (SELECT subject FROM leases WHERE kind = 'token' AND epoch = ANY($1::bigint[])) ORDER BY id FOR UPDATE",
    values: [epochs],
  },
];

/** @param held what open requests hold stays. */
function release(kind: 'account' | 'token', epochs: string, held: boolean): Statement[] {
  const [table, column] = kind === 'account' ? ['accounts', 'user_id'] : ['tokens', 'token_id'];
  const kept = held
    ? `least(l.amount, coalesce((SELECT sum(h.estimate) FROM holds h WHERE h.epoch = l.epoch AND h.${column} = l.subject), 0))::bigint`
    : '0';
  const left = `SELECT l.subject, l.epoch, l.amount, ${kept} AS kept FROM leases l WHERE l.kind = '${kind}' AND l.epoch = ANY($1::bigint[])`;
  return [
    {
      text: `UPDATE ${table} t SET leased = t.leased - v.back FROM (SELECT subject, sum(amount - kept)::bigint AS back FROM (${left}) rows GROUP BY subject) v WHERE t.id = v.subject`,
      values: [epochs],
    },
    {
      text: `UPDATE leases l SET amount = v.kept FROM (${left}) v WHERE l.kind = '${kind}' AND l.subject = v.subject AND l.epoch = v.epoch`,
      values: [epochs],
    },
    {
      text: `DELETE FROM leases WHERE kind = '${kind}' AND epoch = ANY($1::bigint[]) AND amount = 0`,
      values: [epochs],
    },
  ];
}

/** The row of a hold names the budgets in which it counts, three numbers each, and no tokens: where it counts in tokens all of the lease stays. */
const keepHeldOfBudgets = (epochs: string): Statement[] => [
  {
    text: `WITH named AS (SELECT h.epoch, h.estimate, part.id::bigint AS id FROM holds h
        CROSS JOIN LATERAL unnest(string_to_array(substring(h.log from '"budgets":\\[([0-9,]*)\\]'), ',')) WITH ORDINALITY AS part(id, place)
        WHERE h.epoch = ANY($1::bigint[]) AND part.place % 3 = 1)
      UPDATE leases l SET amount = coalesce((SELECT CASE b.unit
          WHEN 'money' THEN least(l.amount, sum(n.estimate)) WHEN 'requests' THEN least(l.amount, count(*)) ELSE l.amount END
        FROM named n JOIN budgets b USING (id) WHERE n.epoch = l.epoch AND n.id = l.subject GROUP BY b.unit), 0)::bigint
      WHERE l.kind = 'budget' AND l.epoch = ANY($1::bigint[])`,
    values: [epochs],
  },
  { text: "DELETE FROM leases WHERE kind = 'budget' AND epoch = ANY($1::bigint[]) AND amount = 0", values: [epochs] },
];

/** Numbers of earlier starts of a node whose process is gone for certain. */
export async function earlierEpochs(line: Line, name: string, epoch: number): Promise<number[]> {
  const [answer] = await line.send([
    {
      text: `SELECT n.epoch FROM nodes n WHERE n.node = $1 AND n.epoch <> $2
        AND (n.state <> 'expired' OR EXISTS (SELECT 1 FROM holds h WHERE h.epoch = n.epoch)) ORDER BY n.epoch`,
      values: [name, epoch],
    },
  ]);
  return (answer?.rows ?? []).map(({ epoch: own }) => own as number);
}

/**
 * Requests of nodes that are gone: to be settled for them as far as was seen. @param timeoutSeconds seconds they may still report
 * themselves; what waits for an end longer than that is over. @param of these alone, null = of all.
 */
export async function orphans(
  line: Line,
  timeoutSeconds = maxRequestSeconds,
  of: readonly number[] | null = null,
): Promise<StoredHold[]> {
  const [answer] = await line.send([
    {
      text: `SELECT h.ref, h.user_id, h.token_id, h.channel_id, h.observed, h.log FROM holds h LEFT JOIN nodes n USING (epoch)
        WHERE coalesce(n.state, 'expired') = 'expired'
          AND (h.epoch = ANY($2::bigint[])
            OR $3 AND coalesce(n.expires_at, '-infinity') < clock_timestamp() - make_interval(secs => $1)) ORDER BY h.ref LIMIT 500`,
      values: [timeoutSeconds, numbers(of ?? []), of === null],
    },
  ]);
  return [...(answer?.rows ?? [])];
}

/** The rest of leases whose node is gone and has no open request any more. */
export async function clearLeases(line: Line): Promise<void> {
  const answers = await line.send([
    { text: 'BEGIN' },
    settings,
    {
      text: `SELECT n.epoch FROM nodes n WHERE n.state = 'expired' AND EXISTS (SELECT 1 FROM leases l WHERE l.epoch = n.epoch)
        AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.epoch = n.epoch) ORDER BY n.epoch FOR UPDATE`,
    },
  ]);
  const epochs = (answers.at(-1)?.rows ?? []).map(({ epoch }) => epoch as number);
  const list = numbers(epochs);
  await line.send([
    ...(epochs.length === 0
      ? []
      : [
          ...lockLeased(list),
          ...(['account', 'token'] as const).flatMap((kind) => release(kind, list, false)),
          { text: "DELETE FROM leases WHERE kind = 'budget' AND epoch = ANY($1::bigint[])", values: [list] },
        ]),
    { text: 'COMMIT' },
  ]);
}

/** Whether something of nodes that are gone is due: their leases are over, or their open requests have had their time. */
export const leftoversDue = `SELECT EXISTS (SELECT 1 FROM nodes WHERE state <> 'expired' AND expires_at < clock_timestamp() - interval '${graceSeconds} s')
  OR EXISTS (SELECT 1 FROM holds h JOIN nodes n USING (epoch) WHERE n.state = 'expired'
    AND n.expires_at < clock_timestamp() - make_interval(secs => ${maxRequestSeconds}))
  OR EXISTS (SELECT 1 FROM leases l JOIN nodes n USING (epoch) WHERE n.state = 'expired'
    AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.epoch = l.epoch)) AS due`;

/** Records that the node stops taking requests soon. */
export async function noteDraining(line: Line, epoch: number): Promise<void> {
  await line.send([
    { text: "UPDATE nodes SET state = 'draining' WHERE epoch = $1 AND state = 'live'", values: [epoch] },
  ]);
}

/** Records that the node has no unreported state left. */
export async function noteLeft(line: Line, epoch: number): Promise<void> {
  await line.send([
    {
      text: 'UPDATE nodes SET left_at = extract(epoch FROM clock_timestamp())::bigint WHERE epoch = $1',
      values: [epoch],
    },
  ]);
}

/** Longer than from one heartbeat to the next. */
const watchMs = 4500;
const checkMs = 250;

/** @returns whether a process reports heartbeats under that name: its row changes while it is watched. */
export async function runsElsewhere(line: Line, name: string): Promise<boolean> {
  const first = new Map<number, string>();
  for (let waited = 0; waited <= watchMs; waited += checkMs) {
    const [answer] = await line.send([
      {
        text: "SELECT epoch, expires_at::text AS until FROM nodes WHERE node = $1 AND state <> 'expired' AND expires_at > clock_timestamp()",
        values: [name],
      },
    ]);
    const rows = (answer?.rows ?? []) as { epoch: number; until: string }[];
    if (rows.length === 0) return false;
    for (const { epoch, until } of rows) {
      if ((first.get(epoch) ?? until) !== until) return true;
      first.set(epoch, until);
    }
    await pause(checkMs);
  }
  return false;
}
