/**
 * How many letters go where. A client has a share and gets an error when it is used up; a mailbox gets a few at once and then
 * one a minute for all clients together: the letter of that minute carries a code that works for every request, so no request waits for another.
 */
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import { AppError } from '../../contract/errors.ts';
import { networkOf } from '../sessions/network.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';
import type { CodePurpose } from './codes.ts';

const windowSeconds = 600;
const perNetwork = 20;
const perRequester = 5;
const atOnce = 5;
const intervalSeconds = 60;
/** Letters to addresses that anonymous clients type, from everywhere: protects the site's reputation with mail servers. */
const toAnonymous = 500;

export interface Sender {
  readonly ip: string;
  /** Name of a browser that was inside the account of this mailbox, '' = none. */
  readonly device: string;
  /** 0 = not logged in. */
  readonly userId: number;
}

export function createEmailQuota(store: EphemeralStore) {
  const networks = createRateLimit('letters of networks', windowSeconds, perNetwork, store);
  const askers = createRateLimit('letters of askers', windowSeconds, perRequester, store);
  const mailboxes = createRateLimit('letters to mailboxes', windowSeconds, atOnce, store);
  const minutes = createRateLimit('letters of this minute', intervalSeconds, 1, store);
  const anonymous = createRateLimit('letters to strangers', windowSeconds, toAnonymous, store);
  const reject = (): never => {
    throw new AppError('too_many_attempts');
  };
  return {
    /** @returns false when a letter of this minute is in the mailbox already. @throws AppError too_many_attempts when the asker had its share. */
    async allows(purpose: CodePurpose, email: string, { ip, device, userId }: Sender): Promise<boolean> {
      const mailbox = `${purpose} ${email.toLowerCase()}`;
      const requester = device !== '' ? `device ${device}` : userId > 0 ? `user ${userId}` : networkOf(ip);
      if (device === '' && userId === 0 && !(await networks.take(networkOf(ip)))) reject();
      if (!(await askers.take(`${requester} ${mailbox}`))) reject();
      if (device !== '') return true;
      if (purpose === 'address' && userId === 0 && !(await anonymous.take('all'))) reject();
      return (await mailboxes.take(mailbox)) || minutes.take(mailbox);
    },
  };
}
