/** What the rules must decide, case by case, spelt out. Also the measure of `scripts/lab/mutate/ledger.ts`: a changed rule must fail here. */
import { strict as assert } from 'node:assert';
import {
  type Adjust,
  type LedgerCommand,
  type LogEntry,
  orderRefundRef,
} from '../../server/billing/ledger/commands.ts';
import type { Decision, Effects, LedgerState, Posting } from '../../server/billing/ledger/core.ts';
import { issued } from '../../server/billing/ledger/invoices.ts';
import { maxQuota } from '../../server/contract/pricing/charge.ts';
import {
  deduct,
  grant,
  invoiceDraft,
  log,
  redeem,
  refund,
  reserve,
  reward,
  settle,
  topUp,
  transfer,
} from './support.ts';

export type Core = Pick<typeof import('../../server/billing/ledger/core.ts'), 'decide' | 'duplicateOf'>;

const posting = (ref: string, change: Partial<Posting> = {}): Posting => ({
  ref,
  debit: 1,
  credit: -2,
  amount: 30,
  kind: 'settle',
  tokenId: 5,
  channelId: 6,
  at: 7300,
  ...change,
});

const known: Record<string, Posting> = {
  old: posting('old', { at: 3700 }),
  gift: posting('gift', { debit: -1, credit: 1, kind: 'grant', tokenId: 0, channelId: 0 }),
  'redeem:9': posting('redeem:9', { debit: -1, credit: 1, amount: 500, kind: 'redeem' }),
  'refund:paid': posting('refund:paid', { debit: -2, credit: 1, amount: 30, kind: 'refund' }),
  paid: posting('paid'),
};

const state: LedgerState = {
  balanceOf: (account) =>
    ({ 1: 100, 4: 5, 5: -2, 6: Number.MAX_SAFE_INTEGER - 3, [-1001]: 40, [-9]: 4 - Number.MAX_SAFE_INTEGER })[
      account
    ] ?? 0,
  hasAccount: (userId) => [1, 2, 4, 5, 6].includes(userId),
  overrunOf: (userId) => (userId === 4 ? 8 : 0),
  posting: (ref) => known[ref],
  code: (id) =>
    ({
      1: { status: 1, quota: 500 },
      2: { status: 2, quota: 500 },
      3: { status: 3, quota: 500 },
      9: { status: 3, quota: 500 },
    })[id],
  order: (tradeNo) =>
    ({
      T1: { status: 'pending', userId: 1, quota: 700, money: 7300, refunded: 0 },
      T2: { status: 'expired', userId: 1, quota: 700, money: 7300, refunded: 0 },
      T3: { status: 'success', userId: 1, quota: 700, money: 7300, refunded: 0 },
      T5: { status: 'success', userId: 1, quota: 60, money: 100, refunded: 50 },
    })[tradeNo],
  lastInvoice: (kind, year) =>
    kind === 'invoice' && year === 2026 ? { number: 41, hash: 'h41' } : { number: 0, hash: '' },
};

const invoice = invoiceDraft('T1', 1, 7300);
const creditNote = { ...invoiceDraft('T5', 1, -1), kind: 'credit_note', corrects: 'INV-2026-000007' } as const;
const orderRefund = (refunded: number, before: number, amount: number, tradeNo = 'T5', userId = 1): Adjust => ({
  ...deduct(orderRefundRef(tradeNo, refunded), userId, amount),
  order: { tradeNo, refunded, before, invoice: null },
});

const writes = (effects: Partial<Effects>): Decision => ({
  kind: 'write',
  effects: { posting: null, paired: null, log: null, usage: null, mark: null, dropsHold: false, ...effects },
});
const answers = (status: 'duplicate' | 'conflict'): Decision => ({ kind: 'answer', result: { status } });
type Reason = 'insufficient' | 'too_large' | 'invalid' | 'unknown_account' | 'closed' | 'mismatch';
const refuses = (reason: Reason, detail: string): Decision => ({
  kind: 'answer',
  result: { status: 'refused', reason, detail },
});
const moved = (ref: string, debit: number, credit: number, amount: number, kind: Posting['kind']): Posting => ({
  ref,
  debit,
  credit,
  amount,
  kind,
  tokenId: 0,
  channelId: 0,
  at: 10_000,
});

const usage = (change: object) => ({
  hourAt: 7200,
  userId: 1,
  username: 'u1',
  model: 'm',
  tokenId: 1,
  channelId: 1,
  requests: 1,
  tokens: 20,
  quota: 20,
  at: 7201,
  ...change,
});
const late = (command: ReturnType<typeof settle>) => ({ ...command, at: 7201 });
const settled = posting('r', { amount: 20, tokenId: 1, channelId: 1, at: 7201 });
const noted = log('note', 1, 1);
const withFact = (row: LogEntry, field: object): LogEntry => ({
  ...row,
  other: JSON.stringify({ ...(JSON.parse(row.other) as object), ...field }),
});

/** Name, command, what must come of it. */
const cases = (max: number): readonly (readonly [string, LedgerCommand, Decision])[] => [
  [
    'settle',
    late(settle('r', 1, 20)),
    writes({ posting: settled, log: log('r', 1, 20), usage: usage({}), dropsHold: true }),
  ],
  [
    'settle nothing',
    late(settle('r', 1, 0)),
    writes({ log: log('r', 1, 0), usage: usage({ tokens: 1, quota: 0 }), dropsHold: true }),
  ],
  [
    'settle a call without tokens',
    { ...late(settle('r', 1, 20)), tokens: 0 },
    writes({ posting: settled, log: log('r', 1, 20), usage: usage({ tokens: 0 }), dropsHold: true }),
  ],
  [
    'settle one without tokens',
    { ...late(settle('r', 1, 1)), tokens: 0 },
    writes({
      posting: { ...settled, amount: 1 },
      log: log('r', 1, 1),
      usage: usage({ tokens: 0, quota: 1 }),
      dropsHold: true,
    }),
  ],
  ['settle neither', { ...settle('r', 1, 0), tokens: 0 }, writes({ log: log('r', 1, 0), dropsHold: true })],
  ['settle a channel test', settle('r', 0, 0), writes({ log: log('r', 0, 0), dropsHold: true })],
  [
    'settle for an unknown user',
    { ...late(settle('r', 3, 20)), tokenId: 1, channelId: 1 },
    writes({
      posting: { ...settled, debit: -3 },
      log: log('r', 3, 20),
      usage: usage({ userId: 3, username: 'u3' }),
      dropsHold: true,
    }),
  ],
  ...(
    [
      ['all but nothing', 4, 6, 1],
      ['a part', 4, 8, 3],
      ['everything', 2, 20, 20],
      ['everything where there is less than nothing', 5, 20, 20],
    ] as const
  ).map(
    ([name, userId, amount, rest]) =>
      [
        `settle beyond the balance: ${name}`,
        { ...late(settle('r', userId, amount)), tokenId: 1, channelId: 1 },
        writes({
          posting: { ...settled, debit: userId, amount },
          paired: { ...settled, ref: 'overrun:r', debit: -3, credit: userId, amount: rest, kind: 'overrun' },
          log: withFact(log('r', userId, amount), { overrun: rest }),
          usage: usage({ userId, username: `u${userId}`, tokens: amount, quota: amount }),
          dropsHold: true,
        }),
      ] as const,
  ),
  [
    'settle all there is',
    late(settle('r', 1, 100)),
    writes({
      posting: { ...settled, amount: 100 },
      log: log('r', 1, 100),
      usage: usage({ tokens: 100, quota: 100 }),
      dropsHold: true,
    }),
  ],
  [
    'settle on the house',
    { ...late(settle('r', 1, 20)), house: true },
    writes({
      posting: settled,
      paired: { ...settled, ref: 'house:r', debit: -6, credit: 1, kind: 'house' },
      log: withFact(log('r', 1, 20), { house: 20 }),
      usage: usage({}),
      dropsHold: true,
    }),
  ],
  [
    'settle beyond the balance without a row',
    { ...late(settle('r', 2, 20)), log: null, tokenId: 1, channelId: 1 },
    writes({
      posting: { ...settled, debit: 2 },
      paired: { ...settled, ref: 'overrun:r', debit: -3, credit: 2, kind: 'overrun' },
      usage: usage({ userId: 2, username: 'u2' }),
      dropsHold: true,
    }),
  ],
  [
    'settle with an empty row',
    { ...late(settle('r', 2, 20)), log: { ...log('r', 2, 20), other: '' }, tokenId: 1, channelId: 1 },
    writes({
      posting: { ...settled, debit: 2 },
      paired: { ...settled, ref: 'overrun:r', debit: -3, credit: 2, kind: 'overrun' },
      log: { ...log('r', 2, 20), other: '{"overrun":20}' },
      usage: usage({ userId: 2, username: 'u2' }),
      dropsHold: true,
    }),
  ],
  ...(
    [
      [5, 5],
      [8, 8],
      [9, 8],
    ] as const
  ).map(
    ([amount, back]) =>
      [
        `grant ${amount} to who owes 8`,
        grant('g', 4, amount),
        writes({
          posting: moved('g', -1, 4, amount, 'grant'),
          paired: moved('repay:g', 4, -3, back, 'repay'),
        }),
      ] as const,
  ),
  ['deduct from who owes', deduct('d', 4, 5), writes({ posting: moved('d', 4, -5, 5, 'deduct') })],
  ['grant up to the most', grant('g', 6, 3), writes({ posting: moved('g', -1, 6, 3, 'grant') })],
  ['grant more than the most', grant('g', 6, 4), refuses('too_large', 'amount 4')],
  [
    'grant the last a source has',
    { ...grant('g', 1, 4), from: -9 },
    writes({ posting: moved('g', -9, 1, 4, 'grant') }),
  ],
  ['grant more than a source has', { ...grant('g', 1, 5), from: -9 }, refuses('too_large', 'amount 5')],
  [
    'settle nothing for an unknown user',
    { ...settle('r', 3, 0), tokens: 0 },
    writes({ log: log('r', 3, 0), dropsHold: true }),
  ],
  ['settle less than nothing', settle('r', 1, -1), refuses('invalid', 'amount -1')],
  ['settle half', settle('r', 1, 0.5), refuses('invalid', 'amount 0.5')],
  ['settle too much', { ...settle('r', 1, 1), amount: max + 1 }, refuses('invalid', `amount ${max + 1}`)],
  [
    'settle the most',
    { ...late(settle('r', 1, 20)), amount: max },
    writes({
      posting: { ...settled, amount: max },
      paired: { ...settled, ref: 'overrun:r', debit: -3, credit: 1, amount: max - 100, kind: 'overrun' },
      log: withFact(log('r', 1, 20), { overrun: max - 100 }),
      usage: usage({ quota: max }),
      dropsHold: true,
    }),
  ],
  ['settle without ref', settle('', 1, 1), refuses('invalid', 'ref is empty')],
  ['hold', reserve('h', 1, 0), { kind: 'hold' }],
  ['hold nothing', { ...reserve('h', 1, 0), estimate: 0 }, { kind: 'hold' }],
  ['hold below nothing', { ...reserve('h', 1, 0), estimate: -1 }, refuses('invalid', 'hold amounts')],
  ['owe below nothing', { ...reserve('h', 1, 0), observed: -1 }, refuses('invalid', 'hold amounts')],
  ['void', { type: 'void', ref: 'h', log: noted }, writes({ log: noted, dropsHold: true })],
  ['note', { type: 'note', ref: 'h', log: noted }, writes({ log: noted })],
  ['grant', { ...grant('g', 1, 5), log: noted }, writes({ posting: moved('g', -1, 1, 5, 'grant'), log: noted })],
  [
    'grant from elsewhere',
    { ...grant('g', 1, 5), from: -4, kind: 'reward' },
    writes({ posting: moved('g', -4, 1, 5, 'reward') }),
  ],
  ['grant nothing', grant('g', 1, 0), refuses('invalid', 'amount 0')],
  ['grant one', grant('g', 1, 1), writes({ posting: moved('g', -1, 1, 1, 'grant') })],
  ['grant to an unknown user', grant('g', 3, 5), refuses('unknown_account', 'user 3')],
  ['grant again', grant('gift', 1, 30), answers('duplicate')],
  ['grant again, other amount', grant('gift', 1, 31), answers('conflict')],
  ['grant again, other user', grant('gift', 2, 30), answers('conflict')],
  ['grant again, other source', { ...grant('gift', 1, 30), from: -4 }, answers('conflict')],
  ['deduct', deduct('d', 1, 100), writes({ posting: moved('d', 1, -5, 100, 'deduct') })],
  [
    'deduct into elsewhere',
    { ...deduct('d', 1, 5), from: -2, kind: 'grant' },
    writes({ posting: moved('d', 1, -2, 5, 'grant') }),
  ],
  ['deduct more than there is', deduct('d', 1, 101), refuses('insufficient', 'balance 100')],
  ['deduct from nothing', deduct('d', 2, 1), refuses('insufficient', 'balance 0')],
  [
    'redeem',
    { ...redeem(1, 2, 500), log: noted },
    writes({
      posting: moved('redeem:1', -1, 2, 500, 'redeem'),
      log: noted,
      mark: { kind: 'code', id: 1, userId: 2, at: 10_000 },
    }),
  ],
  ['redeem a disabled code', redeem(2, 1, 500), refuses('closed', 'code 2')],
  ['redeem a used code without posting', redeem(3, 1, 500), refuses('closed', 'code 3')],
  ['redeem no code', redeem(4, 1, 500), refuses('closed', 'code 4')],
  ['redeem another worth', redeem(1, 1, 501), refuses('mismatch', 'code is worth 500')],
  ['redeem under another ref', { ...redeem(1, 1, 500), ref: 'x' }, refuses('invalid', 'ref x')],
  ['redeem again', redeem(9, 1, 500), answers('duplicate')],
  ['redeem again for another', redeem(9, 2, 500), answers('conflict')],
  ...(['T1', 'T2'] as const).map(
    (tradeNo) =>
      [
        `pay ${tradeNo}`,
        topUp(tradeNo, 1, 700, 3),
        writes({
          posting: moved(`topup:${tradeNo}`, -1, 1, 700, 'topup'),
          mark: { kind: 'order', tradeNo, callbackId: 3, at: 10_000, invoice: null },
        }),
      ] as const,
  ),
  [
    'pay with an invoice',
    { ...topUp('T1', 1, 700, 3), invoice },
    writes({
      posting: moved('topup:T1', -1, 1, 700, 'topup'),
      mark: {
        ...{ kind: 'order', tradeNo: 'T1', callbackId: 3, at: 10_000 },
        invoice: issued(invoice, { number: 41, hash: 'h41' }),
      },
    }),
  ],
  [
    'give back the rest of an order',
    orderRefund(100, 50, 30),
    writes({
      posting: moved('orderrefund:T5:100', 1, -5, 30, 'deduct'),
      mark: { kind: 'order_refund', tradeNo: 'T5', refunded: 100, invoice: null },
    }),
  ],
  [
    'give back a part of an order, its quota rounded up',
    { ...orderRefund(51, 50, 1), order: { tradeNo: 'T5', refunded: 51, before: 50, invoice: creditNote } },
    writes({
      posting: moved('orderrefund:T5:51', 1, -5, 1, 'deduct'),
      mark: {
        ...{ kind: 'order_refund', tradeNo: 'T5', refunded: 51 },
        invoice: issued(creditNote, { number: 0, hash: '' }),
      },
    }),
  ],
  ['give back more than was paid', orderRefund(101, 50, 31), refuses('mismatch', 'given back 50 of 100')],
  ['give back what was given back', orderRefund(100, 0, 60), refuses('mismatch', 'given back 50 of 100')],
  ['give back less than was', orderRefund(49, 50, 1), refuses('mismatch', 'given back 50 of 100')],
  ['give back another quota', orderRefund(100, 50, 29), refuses('mismatch', 'given back 50 of 100')],
  ["give back another's", orderRefund(100, 50, 30, 'T5', 2), refuses('mismatch', 'given back 50 of 100')],
  ['give back what was not paid', orderRefund(100, 0, 10, 'T1'), refuses('closed', 'order T1')],
  ['give back no order', orderRefund(100, 0, 10, 'T4'), refuses('closed', 'order T4')],
  ['give back under another ref', { ...orderRefund(100, 50, 30), ref: 'x' }, refuses('invalid', 'ref x')],
  ['give back more than the balance', orderRefund(7300, 0, 700, 'T3'), refuses('insufficient', 'balance 100')],
  ['pay a paid order', topUp('T3', 1, 700), refuses('closed', 'order T3')],
  ['pay no order', topUp('T4', 1, 700), refuses('closed', 'order T4')],
  ['pay for another', topUp('T1', 2, 700), refuses('mismatch', 'order of another content')],
  ['pay another amount', topUp('T1', 1, 701), refuses('mismatch', 'order of another content')],
  ['pay under another ref', { ...topUp('T1', 1, 700), ref: 'x' }, refuses('invalid', 'ref x')],
  [
    'transfer',
    transfer('n', 1, 40),
    writes({
      posting: moved('transfer:1:n', -1001, 1, 40, 'transfer'),
      mark: { kind: 'affiliate', userId: 1, earned: 0, moved: 40 },
    }),
  ],
  ['transfer more than was earned', transfer('n', 1, 41), refuses('insufficient', 'balance 40')],
  ['transfer nothing', transfer('n', 1, 0), refuses('invalid', 'amount 0')],
  [
    'reward',
    { ...reward(7, 1, 10), log: noted },
    writes({
      posting: moved('invite:7', -4, -1001, 10, 'reward'),
      log: noted,
      mark: { kind: 'affiliate', userId: 1, earned: 10, moved: 0 },
    }),
  ],
  [
    'reward with nothing',
    { ...reward(7, 1, 0), log: noted },
    writes({ log: noted, mark: { kind: 'affiliate', userId: 1, earned: 0, moved: 0 } }),
  ],
  ['reward below nothing', reward(7, 1, -1), refuses('invalid', 'amount -1')],
  ['reward an unknown user', reward(7, 3, 0), refuses('unknown_account', 'user 3')],
  [
    'refund',
    { ...refund('old', 1, 30), log: noted },
    writes({
      posting: { ...moved('refund:old', -2, 1, 30, 'refund'), tokenId: 5, channelId: 6 },
      log: noted,
      usage: usage({ hourAt: 3600, tokenId: 5, channelId: 6, requests: 0, tokens: 0, quota: -30, at: 10_000 }),
    }),
  ],
  ['refund more than was settled', refund('old', 1, 31), refuses('mismatch', 'settled 30')],
  ['refund to another', refund('old', 2, 30), refuses('mismatch', 'settled 30')],
  ['refund a gift', refund('gift', 1, 30), refuses('closed', 'settlement gift')],
  ['refund nothing known', refund('none', 1, 30), refuses('closed', 'settlement none')],
  ['refund under another ref', { ...refund('old', 1, 30), ref: 'x' }, refuses('invalid', 'ref x')],
  ['refund again', refund('paid', 1, 30), answers('duplicate')],
  ['refund again, less', refund('paid', 1, 29), answers('conflict')],
];

/** @throws AssertionError at the first case that is decided otherwise. */
export function examineCore({ decide, duplicateOf }: Core): void {
  assert.equal(maxQuota, 10 ** 15);
  for (const [name, command, expected] of cases(maxQuota)) assert.deepEqual(decide(command, state), expected, name);
  const one = { debit: 1, credit: 2, amount: 3 };
  assert.deepEqual(duplicateOf(one, { ...one }), { status: 'duplicate' });
  for (const change of [{ debit: 9 }, { credit: 9 }, { amount: 9 }])
    assert.deepEqual(duplicateOf(one, { ...one, ...change }), { status: 'conflict' });
}
