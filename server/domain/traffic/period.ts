/** A range in bars, as `contract/counted.ts` bounds it: how much was sent in each part of it, and how that went. */
import type { TrafficPart } from '../../../db/repositories/traffic.ts';
import { edgesOfNamed } from '../../contract/counted.ts';
import type { PeriodLevel } from '../../contract/traffic.ts';

const hourSeconds = 3600;
/** Hours of a bar. */
const barHours = { '24h': 1, '7d': 7 } as const;
export type PeriodRange = keyof typeof barHours;
/** More of the attempts than this failed. */
const poorShare = 0.05;
/** Requests that take so many times their usual time are slow, where they are not quick anyway. */
export const slowFactor = 2;
export const minSlowMs = 1000;

export interface PeriodBar {
  /** Epoch seconds at which it begins. */
  readonly at: number;
  readonly attempts: number;
  readonly failed: number;
  /** Milliseconds. */
  readonly latency: number | null;
  readonly level: PeriodLevel;
}

export interface Period {
  /** Epoch seconds, at the edges of hours; the hour under way counts. */
  readonly from: number;
  readonly to: number;
  /** Seconds of a bar. */
  readonly width: number;
}

/** @param now epoch seconds. */
export function periodOf(range: PeriodRange, now: number): Period {
  const { from, to } = edgesOfNamed(range, now);
  return { from, to, width: barHours[range] * hourSeconds };
}

export function levelOf(
  { attempts, failed, requests, latency_ms: ms }: TrafficPart,
  usualMs: number | null,
): PeriodLevel {
  if (attempts === 0) return 'none';
  if (2 * failed > attempts) return 'bad';
  if (failed > poorShare * attempts) return 'poor';
  const mean = requests === 0 ? 0 : ms / requests;
  return usualMs !== null && mean >= minSlowMs && mean >= slowFactor * usualMs ? 'slow' : 'good';
}

/** @param parts those of one subject. @param usualMs its usual mean latency; null = unknown. @returns the oldest first, the last one with the hour under way. */
export function barsOf(
  { from, to, width }: Period,
  parts: readonly TrafficPart[],
  usualMs: number | null,
): PeriodBar[] {
  const known = new Map(parts.map((part) => [part.bar, part]));
  return Array.from({ length: Math.ceil((to - from) / width) }, (_, bar): PeriodBar => {
    const part = known.get(bar);
    const at = from + bar * width;
    if (part === undefined) return { at, attempts: 0, failed: 0, latency: null, level: 'none' };
    const { attempts, failed, requests, latency_ms: ms } = part;
    const latency = requests === 0 ? null : Math.round(ms / requests);
    return { at, attempts, failed, latency, level: levelOf(part, usualMs) };
  });
}
