/** Redemption codes: batches, edits, and the one time each is redeemed. */

import { randomBytes } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import {
  createRedemptionsRepository,
  type RedemptionFilter,
  type RedemptionRow,
  type RedemptionSort,
} from '../../../db/repositories/redemptions.ts';
import type { UserRow } from '../../../db/repositories/users.ts';
import { type Ledger, redeemRef } from '../../billing/ledger/commands.ts';
import type { Redemption } from '../../contract/entities.ts';
import { LogType, RedemptionStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { maxQuota } from '../../contract/pricing/charge.ts';
import { formatQuota } from '../../contract/pricing/format.ts';
import { storedText } from '../../contract/stored-texts.ts';
import type { AffiliateService } from '../affiliate/service.ts';
import { eventLog, quotaWords } from '../logs/event.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';

/** Absent = default (create) or unchanged (update). The limits are those of new-api. */
export interface RedemptionFields {
  readonly name?: string | undefined;
  readonly quota?: number | undefined;
  readonly count?: number | undefined;
  readonly status?: number | undefined;
  /** Epoch seconds; 0 = never. */
  readonly expired_time?: number | undefined;
}

const maxNameLength = 20;
const maxAtOnce = 100;
const defaultQuota = 100_000;
/** Wrong codes a user may try in ten minutes. */
const attempts = 20;

export type RedemptionsService = ReturnType<typeof createRedemptions>;

export function createRedemptions(deps: {
  readonly database: Database;
  readonly store: EphemeralStore;
  readonly vault: Vault;
  readonly ledger: Ledger;
  readonly options: OptionsService;
  readonly affiliate: Pick<AffiliateService, 'toppedUp'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}) {
  const { vault, options } = deps;
  const repository = createRedemptionsRepository(deps.database);
  const guessing = createRateLimit('wrong redemption codes', 600, attempts, deps.store);
  const seconds = () => Math.floor(deps.now() / 1000);

  const view = (row: RedemptionRow): Redemption => ({
    id: row.id,
    user_id: row.user_id,
    key: vault.open('redemption-key', row.key_sealed),
    status: row.status,
    name: row.name,
    quota: row.quota,
    created_time: row.created_at,
    redeemed_time: row.redeemed_at,
    used_user_id: row.used_user_id,
    used_username: row.used_username ?? '',
    expired_time: row.expires_at,
    count: 0,
    DeletedAt: null,
  });

  const find = async (id: number): Promise<RedemptionRow> => {
    const row = await repository.find(id);
    if (row === undefined) throw new AppError('not_found', { what: `redemption ${id}` });
    return row;
  };

  const allowGuess = async (userId: number): Promise<void> => {
    if ((await guessing.taken(String(userId))) >= attempts) throw new AppError('too_many_attempts');
  };

  return {
    /** @param page 1-based. */
    async page(filter: Omit<RedemptionFilter, 'now'>, page: number, size: number, sort?: RedemptionSort) {
      const { rows, total } = await repository.page({ ...filter, now: seconds() }, (page - 1) * size, size, sort);
      return { items: rows.map(view), page, page_size: size, total };
    },
    get: async (id: number): Promise<Redemption> => view(await find(id)),
    /** @param ownCode absent = they are made up. @returns the codes, which can be read again later. @throws AppError redemption_*. */
    async create(creator: number, fields: RedemptionFields, ownCode?: string): Promise<string[]> {
      const quota = checkQuota(fields.quota ?? defaultQuota);
      const count = fields.count ?? 1;
      if (count <= 0) throw new AppError('redemption_count_low');
      if (count > maxAtOnce) throw new AppError('redemption_count_high');
      const given = (fields.name ?? '').trim();
      const display = {
        inCurrency: options.get('DisplayInCurrencyEnabled'),
        quotaPerUnit: options.get('QuotaPerUnit'),
      };
      const name = checkName(given === '' ? formatQuota(quota, display) : given);
      const expiresAt = checkExpiry(fields.expired_time ?? 0, seconds());
      const keys =
        ownCode === undefined ? Array.from({ length: count }, () => randomBytes(16).toString('hex')) : [ownCode.trim()];
      await repository.createAll(
        keys.map((key) => ({
          user_id: creator,
          name,
          key_hmac: vault.keyHmac(key),
          key_sealed: vault.encrypt('redemption-key', key),
          status: RedemptionStatus.unused,
          quota,
          created_at: seconds(),
          redeemed_at: 0,
          used_user_id: 0,
          deleted_at: null,
          expires_at: expiresAt,
        })),
      );
      return keys;
    },
    /** Only unused codes can be edited. @throws AppError redemption_*, not_found. */
    async update(id: number, fields: RedemptionFields, statusOnly: boolean): Promise<Redemption> {
      const row = await find(id);
      if (row.status === RedemptionStatus.used) throw new AppError('redemption_used_edit');
      const change = {
        ...(statusOnly || fields.name === undefined ? {} : { name: checkName(fields.name.trim()) }),
        ...(statusOnly || fields.quota === undefined ? {} : { quota: checkQuota(fields.quota) }),
        // An expiry that is sent back as it was read stays, past or not.
        ...(statusOnly || fields.expired_time === undefined || fields.expired_time === row.expires_at
          ? {}
          : { expires_at: checkExpiry(fields.expired_time, seconds()) }),
        ...(fields.status === undefined ? {} : { status: checkStatus(fields.status) }),
      };
      if (Object.keys(change).length > 0 && !(await repository.update(id, change)))
        throw new AppError('redemption_used_edit');
      return view(await find(id));
    },
    async remove(id: number): Promise<void> {
      if (!(await repository.remove(id, seconds()))) throw new AppError('not_found', { what: `redemption ${id}` });
    },
    /** Removes used, disabled and expired codes. @returns how many. */
    removeInvalid: (): Promise<number> => repository.removeInvalid(seconds()),
    /** @returns the quota added. @throws AppError redemption_key_missing, redemption_invalid, redemption_used, redemption_expired, too_many_attempts. */
    async redeem(user: UserRow, given: string): Promise<number> {
      const key = given.trim();
      if (key === '') throw new AppError('redemption_key_missing');
      await allowGuess(user.id);
      const row = await repository.findByKey(vault.keyHmac(key));
      if (row === undefined || row.status === RedemptionStatus.disabled) {
        await guessing.take(String(user.id));
        throw new AppError('redemption_invalid');
      }
      if (row.status === RedemptionStatus.used) throw new AppError('redemption_used');
      const at = seconds();
      if (row.expires_at > 0 && row.expires_at <= at) throw new AppError('redemption_expired');
      const result = await deps.ledger.execute({
        type: 'redeem',
        ref: redeemRef(row.id),
        redemptionId: row.id,
        userId: user.id,
        amount: row.quota,
        at,
        log: eventLog({
          type: LogType.topup,
          at,
          user,
          content: storedText('redeemed', { quota: quotaWords(options, row.quota), id: String(row.id) }),
          other: { redemption_id: row.id, quota: row.quota },
        }),
      });
      if (result.status === 'done') {
        await deps.affiliate.toppedUp(user.id);
        return row.quota;
      }
      // The row changed between the look-up and the claim: another request redeemed it first, or it was edited.
      throw new AppError(
        result.status === 'refused' && result.reason !== 'closed' ? 'redemption_invalid' : 'redemption_used',
      );
    },
  };
}

function checkName(name: string): string {
  const length = [...name].length;
  if (length < 1 || length > maxNameLength) throw new AppError('redemption_name_length');
  return name;
}

function checkQuota(quota: number): number {
  if (!Number.isSafeInteger(quota) || quota < 1 || quota > maxQuota) throw new AppError('redemption_quota');
  return quota;
}

/** @param now epoch seconds. */
function checkExpiry(at: number, now: number): number {
  if (!Number.isSafeInteger(at) || at < 0 || (at > 0 && at <= now)) throw new AppError('redemption_expiry');
  return at;
}

/** Codes become used by being redeemed, not by an edit. */
function checkStatus(status: number): number {
  if (status !== RedemptionStatus.unused && status !== RedemptionStatus.disabled)
    throw new AppError('params_invalid', { detail: `status ${status}` });
  return status;
}
