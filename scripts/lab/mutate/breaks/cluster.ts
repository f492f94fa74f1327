/** What keeps many cores and several machines exact, and the line without which it would not. */
import { books } from './books.ts';
import { company } from './company.ts';
import { relays } from './relays.ts';
import type { Break } from './row.ts';

export const breaks: readonly Break[] = [...books, ...relays, ...company];
