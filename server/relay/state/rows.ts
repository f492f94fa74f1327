/** Users and keys as the relay reads them: all of one shape, and what is empty is shared. */
import { type TokenLimits, type TokenSnapshot, tokenPresets, type UserSnapshot } from '../../contract/snapshot.ts';

/** A member that a row leaves out does not compile. */
type Members<T> = { readonly [K in keyof Required<T>]: Required<T>[K] | undefined };

const preset: UserSnapshot['setting'] = {};

const isUnused = ({ day, month }: TokenSnapshot['periods']): boolean =>
  day.at === 0 && day.used === 0 && month.at === 0 && month.used === 0;

const isEmpty = (members: object): boolean => {
  for (const _ in members) return false;
  return true;
};

export class TokenRow implements Members<TokenSnapshot> {
  readonly id: number;
  readonly userId: number;
  readonly name: string;
  readonly keyHmac: string;
  readonly oldKey: TokenSnapshot['oldKey'];
  readonly status: number;
  readonly expiresAt: number;
  readonly unlimited: boolean;
  readonly quotaLimit: number;
  readonly used: number;
  readonly modelLimits: readonly string[] | null;
  readonly allowIps: readonly string[];
  readonly group: string;
  readonly labels: readonly string[] | undefined;
  readonly channels: string | undefined;
  readonly limits: TokenLimits | null;
  readonly periods: TokenSnapshot['periods'];

  constructor(token: TokenSnapshot) {
    this.id = token.id;
    this.userId = token.userId;
    this.name = token.name;
    this.keyHmac = token.keyHmac;
    this.oldKey = token.oldKey;
    this.status = token.status;
    this.expiresAt = token.expiresAt;
    this.unlimited = token.unlimited;
    this.quotaLimit = token.quotaLimit;
    this.used = token.used;
    this.modelLimits = token.modelLimits;
    this.allowIps = token.allowIps.length === 0 ? tokenPresets.allowIps : token.allowIps;
    this.group = token.group;
    this.labels = token.labels;
    this.channels = token.channels;
    this.limits = token.limits;
    this.periods = isUnused(token.periods) ? tokenPresets.periods : token.periods;
  }
}

export class UserRow implements Members<UserSnapshot> {
  readonly id: number;
  readonly username: string;
  readonly role: number;
  readonly status: number;
  readonly group: string;
  readonly balance: number;
  readonly used: number;
  readonly balanceVersion: number;
  readonly overrun: number;
  readonly paidIn: number | undefined;
  readonly setting: UserSnapshot['setting'];

  constructor(user: UserSnapshot) {
    this.id = user.id;
    this.username = user.username;
    this.role = user.role;
    this.status = user.status;
    this.group = user.group;
    this.balance = user.balance;
    this.used = user.used;
    this.balanceVersion = user.balanceVersion;
    this.overrun = user.overrun;
    this.paidIn = user.paidIn;
    this.setting = isEmpty(user.setting) ? preset : user.setting;
  }
}
