/** Invitation codes. What invitations earned is written by the ledger alone. */
import { UserStatus } from '../../server/contract/enum.ts';
import type { Database } from '../open.ts';

export function createAffiliateRepository({ query }: Database) {
  return {
    /** @returns null = none yet, undefined = there is no such user. */
    code: async (userId: number): Promise<string | null | undefined> =>
      (await query.selectFrom('users').select('aff_code').where('id', '=', userId).executeTakeFirst())?.aff_code,
    /** Gives a user without a code this one. @returns false when the user has one or another user has it. */
    claimCode: async (userId: number, code: string): Promise<boolean> =>
      (
        await query
          .updateTable('users')
          .set({ aff_code: code })
          .where('id', '=', userId)
          .where('aff_code', 'is', null)
          .where((eb) => eb.not(eb.exists(eb.selectFrom('users as other').select('id').where('aff_code', '=', code))))
          .executeTakeFirst()
      ).numUpdatedRows > 0n,
    ownerOf: (code: string): Promise<{ id: number; username: string; group_name: string } | undefined> =>
      query
        .selectFrom('users')
        .select(['id', 'username', 'group_name'])
        .where('aff_code', '=', code)
        .where('deleted_at', 'is', null)
        .where('status', '=', UserStatus.enabled)
        .executeTakeFirst(),
    /** @returns whom gifts of an invitation wait for. */
    waiting: (userId: number): Promise<{ id: number; username: string; group_name: string } | undefined> =>
      query
        .selectFrom('users')
        .select(['id', 'username', 'group_name'])
        .where('id', '=', userId)
        .where('gift_waits', '=', 1)
        .executeTakeFirst(),
    waits: async (userId: number): Promise<void> => {
      await query.updateTable('users').set({ gift_waits: 1 }).where('id', '=', userId).execute();
    },
    given: async (userId: number): Promise<void> => {
      await query.updateTable('users').set({ gift_waits: 0 }).where('id', '=', userId).execute();
    },
    inviterOf: (userId: number): Promise<{ id: number; username: string; group_name: string } | undefined> =>
      query
        .selectFrom('users as invited')
        .innerJoin('users as inviter', 'inviter.id', 'invited.inviter_id')
        .select(['inviter.id', 'inviter.username', 'inviter.group_name'])
        .where('invited.id', '=', userId)
        .where('inviter.deleted_at', 'is', null)
        .executeTakeFirst(),
  };
}
