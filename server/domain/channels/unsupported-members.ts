/** What upstreams of channels turned out not to take: learnt from refusals, written or confirmed by an administrator, found by a probe. */
import type { Database } from '../../../db/open.ts';
import {
  createUnsupportedMembersRepository,
  type UnsupportedKey,
  type UnsupportedRow,
} from '../../../db/repositories/unsupported-members.ts';
import { AppError } from '../../contract/errors.ts';
import {
  maxUnsupported,
  maxUnsupportedOfPair,
  type RefusalReport,
  type UnsupportedMember,
  type UnsupportedOfChannel,
  type UnsupportedSource,
  unsupportedSeconds,
  usersForAll,
} from '../../contract/unsupported-members.ts';
import { removableNamed, toolTypeMember } from '../../providers/knowledge/removable-members.ts';

const usersOf = ({ users }: Pick<UnsupportedRow, 'users'>): string[] => (users === '' ? [] : users.split(','));

/** What the upstream gets instead: a function for a type of tools, nothing for everything else. */
const demandOf = (member: string): string => (member.includes(`:${toolTypeMember}=`) ? 'function' : 'absent');

/** @param now epoch milliseconds. */
export function createUnsupportedMembers({
  database,
  now,
}: {
  readonly database: Database;
  readonly now: () => number;
}) {
  const repository = createUnsupportedMembersRepository(database);
  const seconds = () => Math.floor(now() / 1000);

  const isCurrent = ({ expires_at: at }: UnsupportedRow): boolean => at === 0 || at > seconds();

  /** Of a model at a channel there is room for so many, and for so many at the site; what one user alone met makes room. */
  const makeRoom = async ({ channel_id, model }: UnsupportedKey): Promise<boolean> => {
    const pair = { channel_id, model };
    if ((await repository.count(pair)) >= maxUnsupportedOfPair && !(await repository.removeOldest(pair))) return false;
    return (await repository.count()) < maxUnsupported || (await repository.removeOldest());
  };

  /** @returns false where another process changed the row meanwhile. */
  const met = async (key: UnsupportedKey, userId: number): Promise<boolean> => {
    const at = seconds();
    const expires_at = at + unsupportedSeconds;
    const user = String(userId);
    const known = await repository.find(key);
    if (known !== undefined) {
      const before = usersOf(known);
      const users = [...new Set([...before, user])].slice(0, usersForAll).join(',');
      const isOwn = known.source !== 'learnt';
      return repository.update(known, { last_at: at, ...(isOwn ? {} : { users, expires_at }) }, 1);
    }
    if (!(await makeRoom(key))) return true;
    const row = { ...key, demand: demandOf(key.member), source: 'learnt', count: 1, users: user };
    return repository.insert({ ...row, first_at: at, last_at: at, expires_at });
  };

  /** One after the other, so that two users who meet it at once are two. */
  let last: Promise<void> = Promise.resolve();
  const noteOne = async ({ channelId, model, members, userId }: RefusalReport): Promise<void> => {
    await repository.removeExpired(seconds());
    for (const member of members) {
      if (removableNamed(member) === null) continue;
      const key = { channel_id: channelId, model, member };
      if (!(await met(key, userId))) await met(key, userId);
    }
  };

  const find = async (key: UnsupportedKey): Promise<UnsupportedRow> => {
    const row = await repository.find(key);
    if (row === undefined) throw new AppError('not_found', { what: `unsupported ${key.model} ${key.member}` });
    return row;
  };

  const service = {
    list: (channelId?: number): Promise<UnsupportedRow[]> => repository.list(channelId),
    /** What is left out of every request at these channels. */
    holding: async (channelIds: readonly number[]): Promise<UnsupportedRow[]> =>
      channelIds.length === 0 ? [] : (await repository.forAll(channelIds)).filter(isCurrent),
    /** As people read them. */
    views: async (channelId: number) => (await repository.list(channelId)).filter(isCurrent).map(unsupportedView),
    /** An upstream refused members to a user and took the request without them. */
    note(report: RefusalReport): Promise<void> {
      const done = last.then(() => noteOne(report));
      // reason: the caller of this report gets the failure; the next report starts afresh.
      last = done.catch(() => undefined);
      return done;
    },
    /** It holds for all from now on, and stays. @throws AppError not_found */
    async confirm(key: UnsupportedKey): Promise<UnsupportedRow> {
      const row = await find(key);
      if (row.source === 'learnt') await repository.update(row, { source: 'hand', expires_at: 0 }, 0);
      return find(key);
    },
    /** @throws AppError not_found */
    async remove(key: UnsupportedKey): Promise<void> {
      if (!(await repository.remove(key)))
        throw new AppError('not_found', { what: `unsupported ${key.model} ${key.member}` });
    },
    /** Rows of the channel's own. @throws AppError params_invalid for a member that may not be left out, then none is stored; or where there is no room. */
    async store(
      channelId: number,
      source: Exclude<UnsupportedSource, 'learnt'>,
      members: readonly Pick<UnsupportedKey, 'model' | 'member'>[],
    ) {
      const at = seconds();
      for (const { model, member } of members) {
        if (model === '') throw new AppError('params_invalid', { detail: `model: ${member}` });
        if (removableNamed(member) === null) throw new AppError('params_invalid', { detail: `member: ${member}` });
      }
      for (const { model, member } of members) {
        const key = { channel_id: channelId, model, member };
        const known = await repository.find(key);
        if (known !== undefined) {
          if (known.source === 'learnt') await repository.update(known, { source, expires_at: 0 }, 0);
          continue;
        }
        if (!(await makeRoom(key)))
          throw new AppError('params_invalid', { detail: `unsupported: ${maxUnsupportedOfPair}` });
        await repository.insert({
          ...key,
          ...{ demand: demandOf(member), source, count: 0, users: '', first_at: at, last_at: at, expires_at: 0 },
        });
      }
    },
    /** Its rows that were not learnt are these, `gpt-5.1 openai-chat:temperature`. @returns what they were, null = the same. @throws AppError params_invalid */
    async replaceOwn(channelId: number, texts: readonly string[]): Promise<string[] | null> {
      const members = new Map(texts.map(parsedUnsupported).map((one) => [unsupportedText(one), one]));
      const own = (await repository.list(channelId)).filter(({ source }) => source !== 'learnt');
      const before = own.map(unsupportedText);
      if (before.length === members.size && before.every((text) => members.has(text))) return null;
      for (const row of own) if (!members.has(unsupportedText(row))) await repository.remove(row);
      await service.store(channelId, 'hand', [...members.values()]);
      return before;
    },
    deleteExpired: (): Promise<void> => repository.removeExpired(seconds()),
  };
  return service;
}

/** As a declarative file has it. */
export const unsupportedText = ({ model, member }: Pick<UnsupportedKey, 'model' | 'member'>): string =>
  `${model} ${member}`;

/** Names of models may have blanks, members have none. */
function parsedUnsupported(text: string): Pick<UnsupportedKey, 'model' | 'member'> {
  const at = text.trim().lastIndexOf(' ');
  return { model: text.trim().slice(0, Math.max(0, at)).trim(), member: text.trim().slice(at + 1) };
}

export const unsupportedView = (row: UnsupportedRow) => {
  const users = usersOf(row).length;
  return {
    ...{
      model: row.model,
      member: row.member,
      demand: row.demand,
      source: row.source as UnsupportedSource,
      count: row.count,
    },
    users,
    for_all: row.source !== 'learnt' || users >= usersForAll,
    ...{ first_time: row.first_at, last_time: row.last_at, expires_time: row.expires_at },
  };
};

export type UnsupportedMembersService = ReturnType<typeof createUnsupportedMembers>;

/** What relays need to know of rows that hold for every request. @param ids channels that are named even where nothing holds. */
export function unsupportedOf(rows: readonly UnsupportedRow[], ids: readonly number[]): UnsupportedOfChannel[] {
  const byChannel = new Map<number, UnsupportedMember[]>(ids.map((id) => [id, []]));
  for (const { channel_id: channelId, model, member, expires_at: expiresAt } of rows) {
    const members = byChannel.get(channelId) ?? [];
    members.push({ channelId, model, member, expiresAt });
    byChannel.set(channelId, members);
  }
  return [...byChannel].map(([channelId, members]) => ({ channelId, members }));
}
