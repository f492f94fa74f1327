/**
 * Ends what a relay thread had open when it died, by the rules that a start after a crash follows: what was delivered is
 * charged, what was not is voided, and what had been settled is settled once. Its totals agree with its rows, whenever it
 * died, so that nothing else needs to be set right.
 */

import { type BudgetedHolder, partsOf } from '../../billing/balances/budgets.ts';
import type { Balances } from '../../billing/balances/money.ts';
import { maxHolders, openRequestAt, Row, RowState, rowsIn, usageIn } from '../../billing/balances/open-requests.ts';
import { groupStripe, holderStripe, userStripe } from '../../billing/balances/shared-memory.ts';
import { RateSlot } from '../../billing/balances/slot.ts';
import type { Ledger, LedgerCommand, LogEntry } from '../../billing/ledger/commands.ts';
import { LogType } from '../../contract/enum.ts';
import { atFactor } from '../../contract/pricing/channel-factor.ts';
import {
  chargedOf,
  chargeOf,
  completionTokensOf,
  loggedPromptTokens,
  oneUnit,
  priceFields,
  promptTokensOf,
  quotaOf,
} from '../../contract/pricing/charge.ts';
import type { Prices } from '../../contract/pricing/price.ts';
import { resolvePrices } from '../../contract/pricing/tables.ts';
import type { Usage } from '../../protocols/canonical.ts';
import { emptyUsage } from '../../protocols/shared/usage.ts';
import type { RelayState } from '../../relay/state/state.ts';

export interface LostReport {
  readonly settled: number;
  readonly voided: number;
  /** All of it is durable, and the rows are free. */
  readonly written: Promise<unknown>;
}

export interface LostDeps {
  readonly balances: Balances;
  readonly state: RelayState;
  readonly ledger: Ledger;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

const timeoutMs = 20;

/** @param regions first cells of the rows it had. @returns when nothing is held any more. */
export async function endLost(deps: LostDeps, thread: number, regions: readonly number[]): Promise<LostReport> {
  const { memory } = deps.balances.money;
  memory.recoverThread(thread);
  let settled = 0;
  let voided = 0;
  const written: Promise<unknown>[] = [];
  for (const first of regions) {
    for (const row of rowsIn(first)) {
      if (memory.get(row + Row.state) === RowState.free) continue;
      const command = await endRow(deps, row);
      if (command.type === 'settle') settled++;
      else voided++;
      written.push(deps.ledger.execute(command).then(() => memory.set(row + Row.state, RowState.free)));
    }
  }
  return { settled, voided, written: Promise.all(written) };
}

/** Gives back what it holds, unless that is done. */
async function endRow(deps: LostDeps, row: number): Promise<LedgerCommand> {
  const { balances } = deps;
  const { memory } = balances.money;
  const get = (cell: number) => memory.get(row + cell);
  const pending = pendingOf(deps, row);
  const { amount } = pending;
  if (get(Row.state) === RowState.open) {
    const charged = amount ?? 0;
    const groups = [get(Row.groupRuns), get(Row.targetRuns)].filter((slot) => slot !== 0);
    const slots = Array.from({ length: maxHolders }, (_, at) => get(Row.holders + at)).filter((slot) => slot !== 0);
    const holders = amount === null ? null : withEndUser(deps, row, slots);
    const budgeted = [...slots, ...(holders ?? []).map(({ slot }) => slot)].map(holderStripe);
    const stripes = new Set([userStripe(get(Row.user)), ...budgeted, ...groups.map(groupStripe)]);
    await runExclusive(deps, [...stripes], () => {
      const fewer = (place: number) => memory.put(place + RateSlot.running, memory.get(place + RateSlot.running) - 1);
      if (get(Row.tokenRuns) === 1) fewer(get(Row.token));
      for (const group of groups) fewer(group);
      for (const cell of [Row.tokenRuns, Row.groupRuns, Row.targetRuns]) memory.put(row + cell, 0);
      const budgets = {
        slots,
        held: { money: get(Row.budgetHeld), requests: 1, tokens: get(Row.tokensHeld) },
        holders,
        requests: 1,
        tokens: promptTokensOf(pending.usage) + completionTokensOf(pending.usage),
        parts: [],
      };
      balances.account(get(Row.userId), get(Row.tokenId)).settle({
        reserved: get(Row.held),
        max: get(Row.maxCost),
        charged,
        selfUse: get(Row.selfUse) === 1,
        budget: get(Row.budgetHeld),
        open: openRequestAt(memory, row),
        failed: amount === null,
        epoch: get(Row.epoch),
        ...(budgeted.length === 0 ? {} : { budgets }),
      });
    });
  }
  return commandFor(deps, row, pending);
}

/** For whom it was made is not known any more, but his slot is. */
function withEndUser(deps: LostDeps, row: number, slots: readonly number[]): readonly BudgetedHolder[] | null {
  const { balances } = deps;
  const found = balances.budgets.endUserAt(balances.money.memory.get(row + Row.tokenId), slots);
  const holders = budgetedOf(deps, row);
  return found.length === 0 ? holders : [...(holders ?? []), ...found];
}

function budgetedOf({ balances, state }: LostDeps, row: number) {
  const get = (cell: number) => balances.money.memory.get(row + cell);
  const userId = get(Row.userId);
  const tokenId = get(Row.tokenId);
  const labels = state.token(tokenId)?.labels;
  return balances.budgets.of({ tokenId, userId, userGroup: state.user(userId)?.group ?? '', labels });
}

/** Does not wait for threads that are gone: their locks are broken when their turn has come. */
async function runExclusive(
  { balances, pause }: LostDeps,
  stripes: readonly number[],
  step: () => void,
): Promise<void> {
  const { memory } = balances.money;
  for (;;) {
    const taken: number[] = [];
    for (const stripe of stripes) if (memory.tryLock(stripe, timeoutMs)) taken.push(stripe);
    if (taken.length === stripes.length) step();
    for (const stripe of taken.toReversed()) memory.release(stripe);
    if (taken.length === stripes.length) return;
    await pause(timeoutMs);
  }
}

interface PendingBill {
  /** null = nothing was delivered. */
  readonly amount: number | null;
  readonly usage: Usage;
  /** Prices by which the amount can be recomputed. */
  readonly prices: Prices | null;
  /** Part of a unit that its thread charged with it; absent = none. */
  readonly carried?: number;
}

/** The usage that is known, or a token for each frame where they were not read: the larger of both. */
function pendingOf(deps: LostDeps, row: number): PendingBill {
  const { memory } = deps.balances.money;
  const get = (cell: number) => memory.get(row + cell);
  const noted = usageIn(memory, row);
  const { model, group, userGroup } = namesOf(deps, row);
  const tables = deps.state.settings.priceTables;
  const found = resolvePrices(tables, model, { group, userGroup, acceptUnset: true });
  const prices = found === null ? null : atFactor(found, get(Row.channelFactor) || 1);
  if (get(Row.state) === RowState.ended) {
    const amount = get(Row.charged);
    const carried = get(Row.carried);
    const bill = { amount: amount < 0 ? null : amount, usage: noted, prices };
    return carried < 0 ? bill : { ...bill, carried };
  }
  const frames = get(Row.delivered);
  const sum = promptTokensOf(noted) + completionTokensOf(noted);
  if (frames === 0 && sum === 0) return { amount: null, usage: noted, prices };
  const seen = { ...emptyUsage, input: Math.ceil(get(Row.promptTokens)), output: frames };
  const [bySight, byNote] = prices === null ? [0, 0] : [quotaOf(seen, prices), quotaOf(noted, prices)];
  return frames > 0 && bySight > byNote
    ? { amount: bySight, usage: seen, prices }
    : { amount: byNote, usage: noted, prices };
}

/** A bill that other prices made is reported as one price for the whole. */
function detailsOf({ amount, usage, prices, carried }: PendingBill): Record<string, unknown> {
  if (amount === null || prices === null) return {};
  if (carried !== undefined) {
    const { whole, rest } = chargeOf(usage, prices);
    if (chargedOf(whole, rest, carried) === amount)
      return { ...priceFields(usage, prices), carried: carried / oneUnit };
  }
  if (quotaOf(usage, prices) === amount) return priceFields(usage, prices);
  const { surcharges: _, channel: _channel, ...rest } = prices;
  const modelPrice = amount / prices.quotaPerUnit;
  return priceFields(emptyUsage, {
    ...rest,
    modelPrice,
    priceFactor: 1,
    groupRatio: 1,
    userGroupRatio: null,
    tiers: [],
  });
}

function namesOf({ balances, state }: Pick<LostDeps, 'balances' | 'state'>, row: number) {
  const { memory } = balances.money;
  const text = (cell: number, units: number) => memory.read(row + cell, memory.get(row + units));
  const user = state.user(memory.get(row + Row.userId));
  return {
    ref: text(Row.ref, Row.refUnits),
    model: text(Row.model, Row.modelUnits),
    group: text(Row.groupName, Row.groupUnits),
    username: user?.username ?? '',
    userGroup: user?.group ?? 'default',
  };
}

function commandFor(deps: LostDeps, row: number, pending: PendingBill): LedgerCommand {
  const { amount, usage } = pending;
  const get = (cell: number) => deps.balances.money.memory.get(row + cell);
  const { ref, model, group, username } = namesOf(deps, row);
  const at = Math.floor(deps.now() / 1000);
  const [userId, tokenId, channelId] = [get(Row.userId), get(Row.tokenId), get(Row.channelId)];
  const log: LogEntry = {
    requestId: ref,
    createdAt: at,
    type: amount === null ? LogType.error : LogType.consume,
    userId,
    username,
    tokenId,
    tokenName: deps.state.token(tokenId)?.name ?? '',
    channelId,
    group,
    model,
    isStream: get(Row.streams) === 1,
    useTime: Math.max(0, Math.round((deps.now() - get(Row.startedMs)) / 1000)),
    promptTokens: loggedPromptTokens(usage),
    completionTokens: completionTokensOf(usage),
    quota: amount ?? 0,
    content: '',
    other: JSON.stringify({
      ...detailsOf(pending),
      frt: -1000,
      ms: Math.round(deps.now() - get(Row.startedMs)),
      failure: 'thread_died',
    }),
    usageSource: amount === null ? 'none' : 'partial',
    endReason: 'recovered',
  };
  if (amount === null) return { type: 'void', ref, log };
  return {
    type: 'settle',
    ref,
    userId,
    tokenId,
    channelId,
    amount,
    at,
    house: get(Row.selfUse) === 1,
    log: deps.state.settings.logConsumption ? log : null,
    tokens: promptTokensOf(usage) + completionTokensOf(usage),
    model,
    username,
    epoch: get(Row.epoch) === 0 ? undefined : get(Row.epoch),
    budgets: partsOf(budgetedOf(deps, row), deps.now() / 1000),
  };
}
