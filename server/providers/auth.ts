/** How a provider wants to be told who calls. */
import type { Provider } from './provider.ts';

/** @returns headers for the key; empty for providers whose key signs the request instead. */
export function authHeaders(provider: Provider, key: string, organization: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (provider.auth.kind === 'bearer') headers.authorization = `Bearer ${key}`;
  if (provider.auth.kind === 'header') headers[provider.auth.name] = key;
  if (organization !== '') headers['openai-organization'] = organization;
  return headers;
}

/** Parts of a key by their names (`APIKey|SecretKey`), or null when the key does not have that shape. */
export function keyParts(provider: Provider, key: string): Readonly<Record<string, string>> | null {
  const { parts, separator } = provider.keyShape;
  if (parts.length === 0) return { key };
  const given = key.split(separator);
  if (given.length !== parts.length || given.includes('')) return null;
  return Object.fromEntries(parts.map((name, index) => [name, given[index] ?? '']));
}
