/** EphemeralStore of one process, without a database. */
import type { EphemeralStore } from '../../db/ephemeral-store.ts';
import { createEphemeralStore } from '../../db/ephemeral-stores.ts';

export const localEphemeralStore = (now: () => number = () => 0): EphemeralStore =>
  createEphemeralStore({ engine: 'sqlite' }, (text) => text, now);
