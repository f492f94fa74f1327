/** How many accounts one network may make: tries in an hour, and accounts in a day. */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import { AppError } from '../../contract/errors.ts';
import { createRateLimit } from './rate-limit.ts';

export interface SignUps {
  /** @param register makes the account. @throws AppError too_many_attempts, and what it throws itself: then there is no account that counts. */
  within<T>(network: string, register: () => Promise<T>): Promise<T>;
}

const triesPerHour = 20;
const dayMs = 86_400_000;

/** @param perDay 0 = no limit. */
export function createSignUps(store: EphemeralStore, perDay: () => number): SignUps {
  const tries = createRateLimit('new accounts of networks', 3600, triesPerHour, store);
  return {
    async within(network, register) {
      if (!(await tries.take(network))) throw new AppError('too_many_attempts');
      const most = perDay();
      if (most === 0) return register();
      const accounts = { purpose: 'new accounts of networks a day', key: network };
      // Counted before, so that of many at the same moment no more get in.
      if ((await store.count(accounts, dayMs, most)) === null) throw new AppError('too_many_attempts');
      try {
        return await register();
      } catch (error) {
        await store.uncount(accounts);
        throw error;
      }
    },
  };
}
