/** Invitations: codes, what both sides get, and moving it into the balance. */

import { randomUUID } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createAffiliateRepository } from '../../../db/repositories/affiliate.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { type Ledger, rewardRef } from '../../billing/ledger/commands.ts';
import { LogType } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { storedText } from '../../contract/stored-texts.ts';
import { eventLog, quotaText, quotaWords } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';

type Person = Pick<UserRow, 'id' | 'username' | 'group_name'>;

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const codeLength = 4;
/** Where a code is the only way in, it is not to be guessed. */
const longCodeLength = 10;
const dayMs = 86_400_000;
/** A code that is taken is drawn again; when there are so many users that this is not enough, codes get longer. */
const maxAttempts = 20;

export type AffiliateService = ReturnType<typeof createAffiliate>;

export function createAffiliate(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly ledger: Ledger;
  readonly options: OptionsService;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** From 0 on and less than `below`; not predictable. */
  readonly randomInt: (below: number) => number;
}) {
  const { ledger, options } = deps;
  const repository = createAffiliateRepository(deps.database);
  const seconds = () => Math.floor(deps.now() / 1000);

  const present = async (user: Person, ref: string, amount: number, words: 'welcome' | 'invited'): Promise<void> => {
    if (amount <= 0) return;
    const at = seconds();
    const content = storedText(words, { quota: quotaWords(options, amount) });
    await ledger.execute({
      type: 'grant',
      ref,
      userId: user.id,
      amount,
      at,
      log: eventLog({ type: LogType.system, at, user, content }),
    });
  };

  /** @returns the inviter's id, 0 when no user has this code. */
  const inviterOf = async (code: string): Promise<number> =>
    code === '' ? 0 : ((await repository.ownerOf(code))?.id ?? 0);

  /** Counts the invited user, and rewards where `amount` > 0. */
  const reward = async (inviter: Person, amount: number, ref: string): Promise<void> => {
    const at = seconds();
    const content = storedText('inviter', { quota: quotaWords(options, amount) });
    await ledger.execute({
      type: 'reward',
      ref,
      userId: inviter.id,
      amount,
      at,
      log: amount > 0 ? eventLog({ type: LogType.system, at, user: inviter, content }) : null,
    });
  };

  /** What an invitation is worth to both. */
  const give = async (user: Person): Promise<void> => {
    const inviter = await repository.inviterOf(user.id);
    if (inviter === undefined) return;
    await present(user, `invitee:${user.id}`, options.get('QuotaForInvitee'), 'invited');
    await reward(inviter, options.get('QuotaForInviter'), rewardRef(user.id));
  };

  return {
    /** The user's invitation code; made when first asked for. @throws AppError user_unknown. */
    async code(userId: number): Promise<string> {
      for (let attempt = 0; ; attempt++) {
        const known = await repository.code(userId);
        if (known === undefined) throw new AppError('user_unknown');
        if (known !== null) return known;
        const length =
          (options.get('InvitationRequired') ? longCodeLength : codeLength) + Math.floor(attempt / maxAttempts);
        const code = Array.from({ length }, () => alphabet[deps.randomInt(alphabet.length)]).join('');
        await repository.claimCode(userId, code);
      }
    },
    inviterOf,
    /** Who lets in with this code. @returns the inviter's id, 0 = nobody, where nobody is needed. @throws AppError invitation_needed */
    async invitation(code: string): Promise<number> {
      const inviterId = await inviterOf(code);
      if (inviterId === 0 && options.get('InvitationRequired')) throw new AppError('invitation_needed');
      return inviterId;
    },
    /** Gifts that waited for a top-up, each once however often it is said. */
    async toppedUp(userId: number): Promise<void> {
      const user = await repository.waiting(userId);
      if (user === undefined) return;
      await give(user);
      await repository.given(userId);
    },
    /**
     * What a new user and the inviter (the row's `inviter_id`) get, each once however often it is asked for.
     * @param network of the new user, which brings so many gifts a day; absent = it is not looked at, and nothing waits.
     */
    async welcome(user: Person, network?: string): Promise<void> {
      await present(user, `new:${user.id}`, options.get('QuotaForNewUser'), 'welcome');
      if (network === undefined) return give(user);
      const inviter = await repository.inviterOf(user.id);
      if (inviter === undefined) return;
      // Counted once there is an account: a registration that fails takes nobody's gift.
      const most = options.get('InvitationGiftsPerIp');
      const place = { purpose: 'invitation gifts of networks', key: network };
      const isBeyond = most > 0 && (await deps.store.count(place, dayMs, most)) === null;
      if (!isBeyond && !options.get('InvitationGiftsAfterTopUp')) return give(user);
      if (!isBeyond) await repository.waits(user.id);
      await reward(inviter, 0, `${rewardRef(user.id)}:counted`);
    },
    /** Moves earned quota into the balance. @throws AppError affiliate_minimum, affiliate_insufficient. */
    async transfer(user: Person, quota: number): Promise<void> {
      const min = options.get('QuotaPerUnit');
      if (!Number.isSafeInteger(quota) || quota < min)
        throw new AppError('affiliate_minimum', { min: quotaWords(options, min), least: quotaText(options, min) });
      const at = seconds();
      const content = storedText('transferred', { quota: quotaWords(options, quota) });
      const result = await ledger.execute({
        type: 'transfer',
        ref: `transfer:${user.id}:${randomUUID()}`,
        userId: user.id,
        amount: quota,
        at,
        log: eventLog({ type: LogType.system, at, user, content, other: { quota } }),
      });
      if (result.status !== 'done') throw new AppError('affiliate_insufficient');
    },
  };
}
