/** The logged-in user as the browser remembers it. */
import type { User } from '../../server/contract/entities.ts';
import { storedName } from './base-path.ts';

const key = storedName('user');
let cached: { readonly text: string | null; readonly user: User | null } = { text: null, user: null };

export function readUser(): User | null {
  const text = localStorage.getItem(key);
  if (text !== cached.text) {
    try {
      cached = { text, user: text === null ? null : (JSON.parse(text) as User) };
    } catch {
      cached = { text, user: null };
    }
  }
  return cached.user;
}

/** @param user null = nobody is logged in. */
export function storeUser(user: User | null): void {
  if (user === null) localStorage.removeItem(key);
  else localStorage.setItem(key, JSON.stringify(user));
}
