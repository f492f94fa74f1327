/** Why an upstream could not be reached, for the channel's operator: the runtime's own words without its advice to programmers. */
import type { UpstreamError } from '../../protocols/canonical.ts';
import { redact } from '../shared/failure.ts';
import type { UpstreamCall } from './call.ts';

export const codeOf = (error: unknown): string | null => {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' ? code : null;
};

const advice = / (?:For more information, pass|Is the computer able to access|Was there a typo in).*$/;

/** @returns null when nothing is known. */
export function causeOf(error: unknown, { url, channel }: Pick<UpstreamCall, 'url' | 'channel'>): UpstreamError | null {
  if (!(error instanceof Error)) return null;
  const code = codeOf(error);
  const words = error.message.replace(advice, '');
  const message = code === null || words.startsWith(code) ? words : `${code}: ${words}`;
  const secrets = [...channel.keys, channel.baseUrl, hostOf(url)];
  return { status: null, type: null, code, message: redact(message, secrets) };
}

const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '');
