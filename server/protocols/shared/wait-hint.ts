/** How long an upstream asks to wait, in the body of an error. */
import { type Json, number, record, records, text } from './json.ts';

const spans = [
  ['ms', 0.001],
  ['s', 1],
  ['m', 60],
  ['h', 3600],
  ['d', 86_400],
] as const;
const maxLength = 40;

/** @param duration `37s`, `2.463586755s`, `1m30s`, `6h5m`, `250ms`; a bare number is one of seconds. @returns seconds; null = it is none. */
export function secondsIn(duration: string): number | null {
  const words = duration.trim();
  if (words === '' || words.length > maxLength) return null;
  if (/^[\d.]+$/.test(words)) return finite(Number(words));
  if (!/^(?:\d{1,10}(?:\.\d{1,10})?(?:ms|[smhd]))+$/.test(words)) return null;
  let sum = 0;
  for (const [, amount = '', unit] of words.matchAll(/(\d{1,10}(?:\.\d{1,10})?)(ms|[smhd])/g))
    sum += Number(amount) * (spans.find(([name]) => name === unit)?.[1] ?? 0);
  return finite(sum);
}

const finite = (seconds: number): number | null => (Number.isFinite(seconds) && seconds > 0 ? seconds : null);

/** "Please try again in 20s", "Please retry after 45 seconds". */
const inWords =
  /\b(?:try again|retry) (?:in|after) (\d{1,6}(?:\.\d{1,10})?(?:(?:ms|[smh])(?:\d{1,6}(?:\.\d{1,10})?(?:ms|[sm]))?|(?= ?seconds?\b)))/i;
/** A message may repeat what the caller wrote: it can ask for no longer wait than this. */
const maxWorded = 60;

const seconds = (value: unknown): number | null => {
  const amount = number(value);
  return amount === null ? secondsIn(text(value) ?? '') : finite(amount);
};

/**
 * Google's `retryDelay`, a `retry_after` of relatives, the reset of a plan, and last the words.
 * Sources: https://github.com/dcdpr/jp/pull/1061, https://github.com/openai/codex/issues/2448.
 * @param body of the error. @returns seconds; null = it says nothing.
 */
export function waitHint(body: Json | null): number | null {
  const error = record(body?.error) ?? body;
  if (error === null) return null;
  for (const detail of records(error.details)) {
    const wait = seconds(detail.retryDelay) ?? seconds(record(detail.metadata)?.quotaResetDelay);
    if (wait !== null) return wait;
  }
  const metadata = record(error.metadata);
  const milliseconds = number(error.retry_after_ms);
  const stated =
    seconds(error.retry_after) ??
    seconds(error.retry_after_seconds) ??
    seconds(metadata?.retry_after_seconds) ??
    seconds(error.resets_in_seconds) ??
    (milliseconds === null ? null : finite(milliseconds / 1000));
  if (stated !== null) return stated;
  const worded = inWords.exec(text(error.message) ?? '')?.[1];
  const wait = worded === undefined ? null : secondsIn(worded);
  return wait === null ? null : Math.min(wait, maxWorded);
}
