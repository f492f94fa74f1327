/** What upstreams of channels turned out not to take: learnt from refusals, written or confirmed by an administrator, found by a probe. */
import type { Database } from '../../../db/open.ts';
import {
  type ChannelFactRow,
  createChannelFactsRepository,
  type FactKey,
} from '../../../db/repositories/channel-facts.ts';
import {
  type ChannelFact,
  type FactReport,
  type FactSource,
  type FactsOfChannel,
  factSeconds,
  maxFacts,
  maxFactsOfPair,
  usersForAll,
} from '../../contract/channel-facts.ts';
import { AppError } from '../../contract/errors.ts';
import { removableNamed, toolTypeMember } from '../../providers/knowledge/removable-members.ts';

const usersOf = ({ users }: Pick<ChannelFactRow, 'users'>): string[] => (users === '' ? [] : users.split(','));

/** A type of tools is told as a function, everything else is left out. */
const demandOf = (member: string): string => (member.includes(`:${toolTypeMember}=`) ? 'function' : 'absent');

/** @param now epoch milliseconds. */
export function createChannelFacts({ database, now }: { readonly database: Database; readonly now: () => number }) {
  const repository = createChannelFactsRepository(database);
  const seconds = () => Math.floor(now() / 1000);

  const isCurrent = ({ expires_at: at }: ChannelFactRow): boolean => at === 0 || at > seconds();

  /** Of a model at a channel there is room for so many, and for so many at the site; what one user alone met makes room. */
  const makeRoom = async ({ channel_id, model }: FactKey): Promise<boolean> => {
    const pair = { channel_id, model };
    if ((await repository.count(pair)) >= maxFactsOfPair && !(await repository.removeOldest(pair))) return false;
    return (await repository.count()) < maxFacts || (await repository.removeOldest());
  };

  /** @returns false where another process changed the row meanwhile. */
  const met = async (key: FactKey, userId: number): Promise<boolean> => {
    const at = seconds();
    const expires_at = at + factSeconds;
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
  const noteOne = async ({ channelId, model, members, userId }: FactReport): Promise<void> => {
    await repository.removeExpired(seconds());
    for (const member of members) {
      if (removableNamed(member) === null) continue;
      const key = { channel_id: channelId, model, member };
      if (!(await met(key, userId))) await met(key, userId);
    }
  };

  const find = async (key: FactKey): Promise<ChannelFactRow> => {
    const row = await repository.find(key);
    if (row === undefined) throw new AppError('not_found', { what: `fact ${key.model} ${key.member}` });
    return row;
  };

  const service = {
    list: (channelId?: number): Promise<ChannelFactRow[]> => repository.list(channelId),
    /** What is left out of every request at these channels. */
    holding: async (channelIds: readonly number[]): Promise<ChannelFactRow[]> =>
      channelIds.length === 0 ? [] : (await repository.forAll(channelIds)).filter(isCurrent),
    /** As people read them. */
    views: async (channelId: number) => (await repository.list(channelId)).filter(isCurrent).map(factView),
    /** An upstream refused members to a user and took the request without them. */
    note(report: FactReport): Promise<void> {
      const done = last.then(() => noteOne(report));
      // reason: whoever reported it hears of it; the next report is another matter.
      last = done.catch(() => undefined);
      return done;
    },
    /** It holds for all from now on, and stays. @throws AppError not_found */
    async confirm(key: FactKey): Promise<ChannelFactRow> {
      const row = await find(key);
      if (row.source === 'learnt') await repository.update(row, { source: 'hand', expires_at: 0 }, 0);
      return find(key);
    },
    /** @throws AppError not_found */
    async remove(key: FactKey): Promise<void> {
      if (!(await repository.remove(key))) throw new AppError('not_found', { what: `fact ${key.model} ${key.member}` });
    },
    /** Rows of the channel's own. @throws AppError params_invalid for a member that may not be left out, or where there is no room. */
    async store(
      channelId: number,
      source: Exclude<FactSource, 'learnt'>,
      facts: readonly Pick<FactKey, 'model' | 'member'>[],
    ) {
      const at = seconds();
      for (const { model, member } of facts) {
        if (removableNamed(member) === null) throw new AppError('params_invalid', { detail: `member: ${member}` });
        const key = { channel_id: channelId, model, member };
        const known = await repository.find(key);
        if (known !== undefined) {
          if (known.source === 'learnt') await repository.update(known, { source, expires_at: 0 }, 0);
          continue;
        }
        if (!(await makeRoom(key))) throw new AppError('params_invalid', { detail: `facts: ${maxFactsOfPair}` });
        await repository.insert({
          ...key,
          ...{ demand: demandOf(member), source, count: 0, users: '', first_at: at, last_at: at, expires_at: 0 },
        });
      }
    },
    /** Its rows that were not learnt are these, `gpt-5.1 openai-chat:temperature`. @returns what they were, null = the same. @throws AppError params_invalid */
    async replaceOwn(channelId: number, facts: readonly string[]): Promise<string[] | null> {
      const own = (await repository.list(channelId)).filter(({ source }) => source !== 'learnt');
      const before = own.map(factText);
      if (before.length === new Set(facts).size && before.every((fact) => facts.includes(fact))) return null;
      for (const row of own) if (!facts.includes(factText(row))) await repository.remove(row);
      await service.store(channelId, 'hand', facts.map(parsedFact));
      return before;
    },
    deleteExpired: (): Promise<void> => repository.removeExpired(seconds()),
  };
  return service;
}

/** As a declarative file has it. */
export const factText = ({ model, member }: Pick<FactKey, 'model' | 'member'>): string => `${model} ${member}`;

/** Names of models may have blanks, members have none. */
function parsedFact(fact: string): Pick<FactKey, 'model' | 'member'> {
  const at = fact.trim().lastIndexOf(' ');
  return { model: fact.trim().slice(0, Math.max(0, at)).trim(), member: fact.trim().slice(at + 1) };
}

export const factView = (row: ChannelFactRow) => {
  const users = usersOf(row).length;
  return {
    ...{ model: row.model, member: row.member, demand: row.demand, source: row.source as FactSource, count: row.count },
    users,
    for_all: row.source !== 'learnt' || users >= usersForAll,
    ...{ first_time: row.first_at, last_time: row.last_at, expires_time: row.expires_at },
  };
};

export type ChannelFactsService = ReturnType<typeof createChannelFacts>;

/** What relays need to know of rows that hold for every request. @param ids channels that are named even where nothing holds. */
export function factsOf(rows: readonly ChannelFactRow[], ids: readonly number[]): FactsOfChannel[] {
  const byChannel = new Map<number, ChannelFact[]>(ids.map((id) => [id, []]));
  for (const { channel_id: channelId, model, member, expires_at: expiresAt } of rows) {
    const facts = byChannel.get(channelId) ?? [];
    facts.push({ channelId, model, member, expiresAt });
    byChannel.set(channelId, facts);
  }
  return [...byChannel].map(([channelId, facts]) => ({ channelId, facts }));
}
