/** Adds charged rows of the log up by hours and days, for whoever writes them in the same transaction. */
import { ownMember, ownToken } from '../../server/contract/counted.ts';
import { LogType } from '../../server/contract/enum.ts';
import type { NameKind } from '../../server/contract/names.ts';
import { hourlyKinds, sumSpans } from '../log-sums.ts';
import { type NumberedLog, numbersIn } from './names.ts';

interface Figures {
  requests: number;
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  quota: number;
}

export interface LogSum extends Figures {
  readonly span: number;
  readonly at: number;
  readonly userId: number;
  readonly tokenId: number;
  readonly group: string;
  readonly model: string;
  readonly channelId: number;
  username: string;
  tokenName: string;
  errors: number;
  list: number;
}

export interface NameSum extends Figures {
  readonly span: number;
  readonly kind: NameKind;
  readonly at: number;
  readonly userId: number;
  readonly nameId: number;
}

/** Reasons of an end with the whole answer. */
const isWhole = (reason: string): boolean => reason === 'completed' || reason === 'imported' || reason === '';

/** A number of the row's facts, without parsing them: in a text of theirs the quotes would be escaped. 0 = it is not there. */
function numberIn(other: string, member: string): number {
  const at = other.indexOf(member);
  if (at < 0) return 0;
  const number = Number.parseFloat(other.slice(at + member.length, at + member.length + 40));
  return Number.isFinite(number) ? number : 0;
}

const [hour, day] = sumSpans;

/** Sums of the log rows of one batch. */
export class LogSums {
  readonly #hours = new Map<string, LogSum>();
  /** null = no row had a name. */
  #named: Map<string, NameSum> | null = null;

  /** @param sign -1 = the row was taken out again. */
  add(log: NumberedLog, sign: 1 | -1 = 1): void {
    if (log.type !== LogType.consume) return;
    const { userId, channelId, group, model, other } = log;
    const tokenId = log.tokenId === 0 && other.includes(ownMember) ? ownToken : log.tokenId;
    const at = log.createdAt - (log.createdAt % hour);
    const key = `${at} ${userId} ${tokenId} ${channelId} ${group.length} ${group}${model}`;
    const cached = sign * numberIn(other, '"cache_tokens":');
    let sum = this.#hours.get(key);
    if (sum === undefined) {
      sum = {
        span: hour,
        at,
        userId,
        tokenId,
        group,
        model,
        channelId,
        username: '',
        tokenName: '',
        ...nothing,
        errors: 0,
        list: 0,
      };
      this.#hours.set(key, sum);
    }
    sum.username = log.username;
    sum.tokenName = log.tokenName;
    addTo(sum, log, sign, cached);
    if (!isWhole(log.endReason)) sum.errors += sign;
    const ratio = numberIn(other, '"group_ratio":');
    if (ratio !== 0) sum.list += (sign * log.quota) / ratio;
    if (log.names !== undefined || sign < 0) this.#addNames(log, sign, cached);
  }

  #addNames(log: NumberedLog, sign: 1 | -1, cached: number): void {
    const { userId, createdAt } = log;
    const named = this.#named ?? new Map<string, NameSum>();
    this.#named = named;
    for (const [kind, nameId] of numbersIn(log))
      for (const span of sumSpans) {
        if (span === hour && !hourlyKinds.has(kind)) continue;
        const at = createdAt - (createdAt % span);
        const key = `${span} ${kind} ${at} ${userId} ${nameId}`;
        let sum = named.get(key);
        if (sum === undefined) {
          sum = { span, kind, at, userId, nameId, ...nothing };
          named.set(key, sum);
        }
        addTo(sum, log, sign, cached);
      }
  }

  /** Hours, and days made of them; in one order for all writers. */
  rows(): readonly LogSum[] {
    const hours = [...this.#hours.values()];
    const [only] = hours;
    if (only === undefined) return hours;
    if (hours.length === 1) return [only, { ...only, span: day, at: only.at - (only.at % day) }];
    const days = new Map<string, LogSum>();
    for (const one of hours) {
      const at = one.at - (one.at % day);
      const key = `${at} ${one.userId} ${one.tokenId} ${one.channelId} ${one.group.length} ${one.group}${one.model}`;
      const sum = days.get(key);
      if (sum === undefined) {
        days.set(key, { ...one, span: day, at });
        continue;
      }
      for (const figure of figures) sum[figure] += one[figure];
      sum.errors += one.errors;
      sum.list += one.list;
    }
    return [...hours, ...days.values()];
  }

  named(): readonly NameSum[] {
    return this.#named === null ? noNames : [...this.#named.values()];
  }
}

const noNames: readonly NameSum[] = [];
const nothing: Figures = { requests: 0, promptTokens: 0, completionTokens: 0, cachedTokens: 0, quota: 0 };
const figures = ['requests', 'promptTokens', 'completionTokens', 'cachedTokens', 'quota'] as const;

function addTo(sum: Figures, log: NumberedLog, sign: 1 | -1, cached: number): void {
  sum.requests += sign;
  sum.promptTokens += sign * log.promptTokens;
  sum.completionTokens += sign * log.completionTokens;
  sum.cachedTokens += cached;
  sum.quota += sign * log.quota;
}
