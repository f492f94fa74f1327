/** Where programs reach the gateway and with which key. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Context } from '../context.ts';

const fileOf = (dataDir: string): string => join(dataDir, 'gateway.url');

/** Whoever finds the file finds the whole address. @returns a function that forgets it again. */
export function announce(dataDir: string, url: string): () => void {
  const draft = `${fileOf(dataDir)}.${process.pid}`;
  writeFileSync(draft, `${url}\n`, { mode: 0o600 });
  renameSync(draft, fileOf(dataDir));
  return () => rmSync(fileOf(dataDir), { force: true });
}

/** Where a browser sets the site up with one click; the fragment never reaches a server's log. */
export const setupLink = (url: string, code: string): string =>
  `${url.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')}/setup#code=${code}`;

/** The remote address, else the one the server on this data directory listens on. */
export function addressOf(context: Context): string {
  if (context.url !== '') return context.url.replace(/\/$/, '');
  return announcedAddress(context.dataDir) ?? `http://127.0.0.1:${context.env.GATEWAY_PORT ?? '3000'}`;
}

/** Where the server on this data directory listens; null = none runs. */
export function announcedAddress(dataDir: string): string | null {
  const file = fileOf(dataDir);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : null;
}

export const audiences = ['openai', 'anthropic', 'gemini'] as const;
export type Audience = (typeof audiences)[number];

/** What SDKs read from their environment. */
export function variablesFor(audience: Audience | null, url: string, key: string): Record<string, string> {
  const openai = { OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: key };
  const anthropic = { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: key };
  const gemini = { GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: key };
  switch (audience) {
    case 'openai':
      return openai;
    case 'anthropic':
      return anthropic;
    case 'gemini':
      return gemini;
    case null:
      return { ...openai, ...anthropic, ...gemini };
  }
}
