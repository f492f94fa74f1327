/** When something expires, as flags and answers say it. */
import { AppError } from '../../server/contract/errors.ts';
import { readExpiry } from '../../server/contract/expiry.ts';
import type { Issue } from '../../server/contract/option-kinds.ts';

const never = -1;

const past: Issue = { zh: '这个时间已经过去', en: 'that moment has passed' };

/** @param now epoch ms. @returns epoch seconds, -1 = never, or what is wrong. */
export function expiryOf(input: string, now: number): number | Issue {
  const expiry = readExpiry(input);
  if (expiry.kind === 'never') return never;
  if (expiry.kind === 'unreadable') return expiry.issue;
  const at = expiry.kind === 'span' ? Math.floor(now / 1000) + expiry.seconds : expiry.seconds;
  return at * 1000 <= now ? past : at;
}

/** What `--expires` says. @returns undefined = nothing was given. @throws AppError usage */
export function expiryFlag(input: string | undefined, now: number): number | undefined {
  if (input === undefined) return undefined;
  const at = expiryOf(input, now);
  if (typeof at === 'number') return at;
  const named = `--expires ${input}`;
  throw new AppError('usage', { detail: named, detail_zh: `${named}：${at.zh}`, detail_en: `${named}: ${at.en}` });
}
