/** How many tokens audio counts for where the upstream does not report it. */
import { number, record, text } from '../../protocols/shared/json.ts';

/** The size of audio of unknown format: 16 bits at 24 kHz. */
export const defaultRate = 48_000;

/** Bytes that base64 text stands for. */
export const base64Bytes = (text: string): number =>
  Math.floor((text.length * 3) / 4) - (text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0);

export const secondsIn = (base64: unknown, rate: number): number =>
  typeof base64 === 'string' ? (base64.length * 3) / 4 / rate : 0;

export const audioTokens = (seconds: number): number => Math.ceil(seconds * 20);

/** A token for each 100 ms of what a person says and each 50 ms of what the model says. Source: developers.openai.com/api/docs/guides/realtime-costs. */
export const audioInputTokens = (seconds: number): number => Math.ceil(seconds * 10);

/** @param format a word of the older form of sessions, an object in the newer one. @returns bytes of a second; null = not said. */
export function rateOf(format: unknown): number | null {
  const named = record(format);
  const name = text(named?.type) ?? text(format);
  if (name === null) return null;
  if (name === 'pcm16' || name === 'audio/pcm') return 2 * (number(named?.rate) ?? defaultRate / 2);
  // 8 bits at 8 kHz; unknown formats are taken for as small.
  return 8000;
}
