/**
 * Programs that sign in by a code which their user approves in the console (RFC 8628), and the refresh tokens that they keep.
 * What waits for an approval lies in the ephemeral store, sealed; each approval becomes one token of the kind `agent`.
 */
import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { EphemeralStore } from '../../../db/ephemeral-store.ts';
import type { Database } from '../../../db/open.ts';
import { createSignInsRepository } from '../../../db/repositories/sign-ins.ts';
import { signAgentToken } from '../../contract/agent-token.ts';
import { Role, TokenStatus, UserStatus } from '../../contract/enum.ts';
import { AppError } from '../../contract/errors.ts';
import { periodStart } from '../../contract/period.ts';
import { maxTokenNameLength } from '../../contract/token-key.ts';
import type { AuditService } from '../audit/service.ts';
import type { OptionsService } from '../options/service.ts';
import type { Vault } from '../secrets/vault.ts';
import { networkOf } from '../sessions/network.ts';
import { createRateLimit } from '../sessions/rate-limit.ts';
import type { TokensService } from '../tokens/service.ts';
import type { UsersService } from '../users/service.ts';

/** Programs that show a code, by their client id. */
const clients: Readonly<Record<string, string>> = { gateway: 'gateway', claude_code: 'Claude Code' };
/** Programs that the browser comes back to (RFC 8252 7.3), by their client id. */
const codeClients: Readonly<Record<string, string>> = { codex: 'Codex' };
const nameOf = (client: string): string => clients[client] ?? codeClients[client] ?? client;
/** Of the user's own machine, and exactly so: what else an address holds would be another's to choose. */
const redirectForm = /^http:\/\/(?:127\.0\.0\.1|\[::1\]):([1-9]\d{0,4})\/callback$/;
/** RFC 7636 4.1 and 4.2: SHA-256, base64url. */
const challengeForm = /^[\w-]{43}$/;
const verifierForm = /^[\w.~-]{43,128}$/;
const stateForm = /^[\x21-\x7e]{0,512}$/;
/** Seconds in which a program exchanges its code. */
const grantSeconds = 60;

/** Seconds a code waits for its approval, and between two questions of the program. */
export const codeSeconds = 600;
export const pollSeconds = 5;
/** Less than the interval, so that a clock that runs fast is no offence. */
const pollWindowSeconds = pollSeconds - 1;
/** Codes that are given out in a window as long as their life: at most twice as many wait at any moment. */
const maxBegun = 500;
const maxBegunPerNetwork = 30;
/** Questions of one network a minute: many people may share one. */
const maxAskedPerNetwork = 300;
/** Wrong codes that a user may type in a window, and all users of a network together: no single one of them keeps the others out. */
const maxGuesses = 10;
const maxGuessesPerNetwork = 10 * maxGuesses;
const maxSignIns = 20;
const daySeconds = 86_400;
/** How many times as long a token works that a program keeps: of an hour, a day. */
const keptTimes = 24;
/** Two terminals may renew at once: so long the former refresh token is refused and harms nobody. */
const graceSeconds = 60;
/** RFC 8628 6.1: consonants, which neither make words nor look like digits. */
const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const maxHostLength = 40;
const unknownHost = 'unknown';

export interface SignInRequest {
  readonly client: string;
  /** The machine, as it names itself. */
  readonly host: string;
  readonly address: string;
  /** Epoch seconds. */
  readonly until: number;
}

/** A program that is signed in, as its user sees it. */
export interface SignedInProgram {
  /** The id of its key. */
  readonly id: number;
  readonly name: string;
  readonly client: string;
  /** The name that the machine gave itself; '' = it gave none. */
  readonly host: string;
  readonly address: string;
  /** Epoch seconds. */
  readonly created_time: number;
  readonly last_used_time: number;
  /** Quota, since midnight (UTC). */
  readonly spent_today: number;
}

/** What a program waits for, as the store keeps it. */
type Waiting = SignInRequest & {
  readonly state: 'pending' | 'denied' | 'approved';
  readonly userId: number;
  /** Mark of the password under which it was approved: a reset ends what the user approved before. */
  readonly password: string;
};

/** What a program asks for by sending the browser to the site (RFC 6749 4.1.1, RFC 7636 4.3). */
export interface CodeRequest {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly response_type: string;
  readonly code_challenge: string;
  readonly code_challenge_method: string;
  readonly state: string;
}

/** An approved code, as the store keeps it. */
type Grant = Waiting & { readonly redirect: string; readonly challenge: string };

/** Where the browser goes with what became of it. */
function backTo({ redirect_uri, state }: CodeRequest, result: Readonly<Record<string, string>>): string {
  return `${redirect_uri}?${new URLSearchParams({ ...result, ...(state === '' ? {} : { state }) })}`;
}

/** The program or its address is not one of ours: the browser goes nowhere. */
export const isKnownClient = ({ client_id, redirect_uri }: CodeRequest): boolean =>
  Object.hasOwn(codeClients, client_id) && Number(redirectForm.exec(redirect_uri)?.[1] ?? 65_536) < 65_536;

/** @param request of a known client. @returns where the browser goes with the error of RFC 6749 4.1.2.1; null = it may be approved. */
export function codeRefusal(request: CodeRequest): string | null {
  const { response_type, code_challenge, code_challenge_method, state } = request;
  if (!stateForm.test(state)) return backTo({ ...request, state: '' }, { error: 'invalid_request' });
  if (response_type !== 'code') return backTo(request, { error: 'unsupported_response_type' });
  if (code_challenge_method !== 'S256' || !challengeForm.test(code_challenge))
    return backTo(request, { error: 'invalid_request' });
  return null;
}

export interface IssuedTokens {
  readonly access_token: string;
  readonly token_type: 'Bearer';
  readonly expires_in: number;
  readonly refresh_token: string;
  readonly user: { readonly id: number; readonly username: string };
}

/** RFC 8628 3.5 and RFC 6749 5.2. */
export type SignInRefusal =
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'invalid_grant'
  | 'invalid_client';

export interface SignInDeps {
  readonly database: Database;
  readonly vault: Vault;
  readonly store: EphemeralStore;
  readonly tokens: TokensService;
  readonly users: UsersService;
  readonly options: OptionsService;
  readonly audit: AuditService;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

export type SignIns = ReturnType<typeof createProgramSignIns>;

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const newSecret = (): string => randomBytes(32).toString('base64url');
/** As people type it, in upper or lower case, with or without the dash. */
const codeOf = (typed: string): string => typed.toUpperCase().replace(/[^A-Z]/g, '');
const newUserCode = (): string => Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join('');
const purpose = 'program sign-in';
/** Secret, row and proof, apart. */
const refreshForm = /^[\w-]+\.([\da-z]{1,11})\.[\da-f]{64}$/;

/** Plain characters alone: the name stands on the page that asks for an approval. */
const plainHost = (host: string): string =>
  host
    .replace(/[^\w.-]+/g, '-')
    .slice(0, maxHostLength)
    .replace(/^[.-]+|[.-]+$/g, '') || unknownHost;

/** @throws AppError params_invalid */
export function checkedRequest(request: CodeRequest): CodeRequest {
  if (!isKnownClient(request) || codeRefusal(request) !== null)
    throw new AppError('params_invalid', { detail: 'client_id, redirect_uri, code_challenge' });
  return request;
}

export const programName = ({ client_id }: CodeRequest): string => nameOf(client_id);

export function createProgramSignIns(deps: SignInDeps) {
  const { store, vault, now } = deps;
  const repository = createSignInsRepository(deps.database);
  const seconds = () => Math.floor(now() / 1000);
  const begun = createRateLimit('sign-in codes', codeSeconds, maxBegun, store);
  const begunThere = createRateLimit('sign-in codes of', codeSeconds, maxBegunPerNetwork, store);
  const asked = createRateLimit('sign-in questions', 60, maxAskedPerNetwork, store);
  const polled = createRateLimit('sign-in polls', pollWindowSeconds, 1, store);
  const guessPlaces = (userId: number, ip: string) =>
    [
      { key: `user ${userId}`, most: maxGuesses },
      { key: `network ${networkOf(ip)}`, most: maxGuessesPerNetwork },
    ].map(({ key, most }) => ({ place: { purpose: 'guesses at sign-in codes', key }, most }));

  const userPlace = (code: string) => ({ purpose: 'sign-in code', key: code });
  const decidedPlace = (code: string) => ({ purpose: 'sign-in decided', key: code });
  const waitPlace = (device: string) => ({ purpose: 'sign-in waits', key: device });
  const usedPlace = (device: string) => ({ purpose: 'sign-in used', key: device });
  const grantPlace = (code: string) => ({ purpose: 'sign-in grant', key: code });
  const grantUsedPlace = (code: string) => ({ purpose: 'sign-in grant used', key: code });
  const grantedPlace = (code: string) => ({ purpose: 'sign-in granted', key: code });

  const read = async <Content>(place: { purpose: string; key: string }): Promise<Content | null> => {
    const sealed = await store.read(place);
    return sealed === null ? null : (JSON.parse(vault.open(purpose, sealed)) as Content);
  };
  const write = (place: { purpose: string; key: string }, content: object, until: number): Promise<void> =>
    store.write(place, vault.encrypt(purpose, JSON.stringify(content)), until * 1000);

  /** The request that a code belongs to. Every wrong code counts against its user and the network. @throws AppError too_many_attempts, sign_in_code */
  async function find(userId: number, ip: string, typed: string) {
    const places = guessPlaces(userId, ip);
    // The user's own bound comes first: who has reached it adds nothing to that of the network.
    for (const { place, most } of places)
      if ((await store.count(place, codeSeconds * 1000, most)) === null) throw new AppError('too_many_attempts');
    const code = codeOf(typed);
    const device = code.length === 8 ? await read<{ device: string }>(userPlace(code)) : null;
    const request = device === null ? null : await read<Waiting>(waitPlace(device.device));
    if (device === null || request === null || request.state !== 'pending') throw new AppError('sign_in_code');
    for (const { place } of places) await store.uncount(place);
    return { code, device: device.device, request };
  }

  const passwordMark = (hash: string): string => vault.keyHmac(`approved under:${hash}`);

  /**
   * Each refresh token names its row and proves that it was given out for it, so that any of them shows a theft, not the
   * last one alone. RFC 9700 4.14.2.
   */
  const refreshFor = (row: { id: number; key_hmac: string }, secret = newSecret()): string =>
    `${secret}.${row.id.toString(36)}.${vault.keyHmac(`refresh token:${secret}:${row.id}:${row.key_hmac}`)}`;

  /** Row that a refresh token was given out for; undefined = the row is gone, or the token is not ours. */
  async function rowOf(refreshToken: string) {
    const [, id = ''] = refreshForm.exec(refreshToken) ?? [];
    const row = id === '' ? undefined : await repository.token(Number.parseInt(id, 36));
    if (row === undefined) return undefined;
    // Of hashes no time tells how far they are alike.
    return hashOf(refreshFor(row, refreshToken.split('.')[0])) === hashOf(refreshToken) ? row : undefined;
  }

  const issue = (
    row: { id: number; key_hmac: string },
    refresh: string,
    user: { id: number; username: string },
    times = 1,
  ) => {
    const life = Math.min(daySeconds, deps.options.get('agents.token_minutes') * 60 * times);
    return {
      access_token: signAgentToken(vault.keyHmac, row.id, seconds() + life, row.key_hmac),
      token_type: 'Bearer' as const,
      expires_in: life,
      refresh_token: refresh,
      user: { id: user.id, username: user.username },
    };
  };

  /** Claude Code names no machine. */
  const nameFor = ({ client, host, address }: SignInRequest): string =>
    `${nameOf(client)} on ${host === unknownHost ? address : host}`.slice(0, maxTokenNameLength);

  const record = (action: string, user: { id: number; username: string }, ip: string, input: object): Promise<void> =>
    deps.audit.record({ action, actorId: user.id, actor: user.username, ip, input });

  async function openUser(id: number) {
    const user = await deps.users.find(id);
    return user?.status === UserStatus.enabled ? user : undefined;
  }

  /** The user as whom a program was approved, as long as that holds. */
  async function approver({ userId, password }: Waiting) {
    const user = await openUser(userId);
    return user !== undefined && passwordMark(user.password_hash) === password ? user : undefined;
  }

  /** The key of a program, null when there can be none more. */
  async function createKey(waiting: Waiting, user: { id: number; username: string; role: number }) {
    if ((await repository.count(user.id)) >= maxSignIns) return null;
    const most = user.role >= Role.admin ? 0 : deps.options.get('token_setting.max_user_tokens');
    const fields = { name: nameFor(waiting), unlimited_quota: true, remain_quota: 0 };
    try {
      return await deps.tokens.create(user.id, fields, undefined, most === 0 ? undefined : most, 'agent');
    } catch (error) {
      if (error instanceof AppError && error.code === 'token_count') return null;
      throw error;
    }
  }

  /** The key, the sign-in and the first tokens of a program; null = its user may have no more, or is not there. */
  async function signInAs(waiting: Waiting): Promise<IssuedTokens | null> {
    const user = await approver(waiting);
    const token = user === undefined ? null : await createKey(waiting, user);
    const row = token === null ? undefined : await repository.token(token.id);
    if (user === undefined || row === undefined) return null;
    // Looked at again: a new password, or other programs, may have come meanwhile.
    if ((await approver(waiting)) === undefined || (await repository.count(user.id)) > maxSignIns) {
      await end({ token_id: row.id });
      return null;
    }
    const refresh = refreshFor(row);
    await repository.create({
      token_id: row.id,
      client: waiting.client,
      host: waiting.host,
      address: waiting.address,
      refresh_hash: hashOf(refresh),
      previous_hash: '',
      rotated_at: 0,
      created_at: seconds(),
      last_used_at: seconds(),
    });
    return issue(row, refresh, user);
  }

  /** What is stored of the sign-in goes with its key. */
  const end = (signIn: { token_id: number }) => deps.tokens.removeMany([signIn.token_id], null);

  return {
    isOn: (): boolean => deps.options.get('agents.sign_in'),

    /** @returns codes for the program and for its user. @throws nothing: refusals are words of the standard. */
    async begin(client: string, host: string, ip: string) {
      if (clients[client] === undefined) return 'invalid_client' as const;
      if (!(await begunThere.take(networkOf(ip))) || !(await begun.take('all'))) return 'slow_down' as const;
      const deviceCode = newSecret();
      const userCode = newUserCode();
      const device = hashOf(deviceCode);
      const until = seconds() + codeSeconds;
      await write(
        waitPlace(device),
        {
          client,
          host: plainHost(host),
          address: ip,
          until,
          state: 'pending',
          userId: 0,
          password: '',
        } satisfies Waiting,
        until,
      );
      await write(userPlace(userCode), { device }, until);
      return { deviceCode, userCode: `${userCode.slice(0, 4)}-${userCode.slice(4)}` };
    },

    /** Who asks. @throws AppError too_many_attempts, sign_in_code */
    async look(userId: number, ip: string, typed: string) {
      const { client, host, address, until } = (await find(userId, ip, typed)).request;
      return { client, name: nameOf(client), host, address, until };
    },

    /** Approves or denies, once. @throws AppError too_many_attempts, sign_in_code, sign_in_limit */
    async decide(user: { id: number; username: string }, ip: string, typed: string, approve: boolean): Promise<void> {
      const { code, device, request } = await find(user.id, ip, typed);
      if (approve && (await repository.count(user.id)) >= maxSignIns)
        throw new AppError('sign_in_limit', { most: maxSignIns });
      const approver = await openUser(user.id);
      if (approver === undefined || !(await store.claim(decidedPlace(code), request.until * 1000)))
        throw new AppError('sign_in_code');
      await store.drop(userPlace(code));
      const password = passwordMark(approver.password_hash);
      const decision: Waiting = { ...request, state: approve ? 'approved' : 'denied', userId: user.id, password };
      await write(waitPlace(device), decision, request.until);
      const { client, host, address } = request;
      await record(approve ? 'sign_in.approve' : 'sign_in.deny', user, ip, { client, host, address });
    },

    /** What a program asks every few seconds. */
    async redeem(deviceCode: string, client: string, ip: string): Promise<IssuedTokens | SignInRefusal> {
      if (!(await asked.take(networkOf(ip)))) return 'slow_down';
      const device = hashOf(deviceCode);
      const waiting = await read<Waiting>(waitPlace(device));
      if (waiting === null) return 'expired_token';
      if (client !== '' && client !== waiting.client) return 'invalid_grant';
      if (waiting.state === 'denied') return 'access_denied';
      if (waiting.state === 'pending') return (await polled.take(device)) ? 'authorization_pending' : 'slow_down';
      // Of two that come with the same code one gets the tokens.
      if (!(await store.claim(usedPlace(device), waiting.until * 1000))) return 'expired_token';
      await store.drop(waitPlace(device));
      return (await signInAs(waiting)) ?? 'access_denied';
    },

    /**
     * A program that waits at an address of the user's machine is approved or denied.
     * @returns where the browser goes. @throws AppError params_invalid, sign_in_limit
     */
    async authorize(
      user: { id: number; username: string },
      ip: string,
      request: CodeRequest,
      approve: boolean,
    ): Promise<string> {
      const { client_id: client, redirect_uri: redirect, code_challenge: challenge } = checkedRequest(request);
      const program = { client, host: unknownHost, address: ip };
      if (!approve) {
        await record('sign_in.deny', user, ip, program);
        return backTo(request, { error: 'access_denied' });
      }
      if ((await repository.count(user.id)) >= maxSignIns) throw new AppError('sign_in_limit', { most: maxSignIns });
      const approver = await openUser(user.id);
      if (approver === undefined) throw new AppError('login_required');
      const code = newSecret();
      const until = seconds() + grantSeconds;
      const approved = { state: 'approved', userId: user.id, password: passwordMark(approver.password_hash) } as const;
      const grant: Grant = { ...program, ...approved, until, redirect, challenge };
      await write(grantPlace(hashOf(code)), grant, until);
      await record('sign_in.approve', user, ip, program);
      return backTo(request, { code });
    },

    /** Tokens for the code that the browser brought, by the secret that only the program has (RFC 7636 4.6). */
    async exchange(
      sent: { readonly code: string; readonly client: string; readonly redirect: string; readonly verifier: string },
      ip: string,
    ): Promise<IssuedTokens | SignInRefusal> {
      if (!(await asked.take(networkOf(ip)))) return 'slow_down';
      const code = hashOf(sent.code);
      const grant = await read<Grant>(grantPlace(code));
      if (grant === null || grant.client !== sent.client || grant.redirect !== sent.redirect) return 'invalid_grant';
      const challenge = createHash('sha256').update(sent.verifier).digest('base64url');
      if (!verifierForm.test(sent.verifier) || challenge !== grant.challenge) return 'invalid_grant';
      // It stays until it is over, so that a second use is known as one.
      if (!(await store.claim(grantUsedPlace(code), grant.until * 1000))) {
        const granted = await read<{ tokenId: number }>(grantedPlace(code));
        // RFC 6749 4.1.2: two have the code and the secret.
        if (granted !== null) await end({ token_id: granted.tokenId });
        return 'invalid_grant';
      }
      const issued = await signInAs(grant);
      if (issued === null) return 'access_denied';
      const row = await rowOf(issued.refresh_token);
      if (row !== undefined) await write(grantedPlace(code), { tokenId: row.id }, grant.until);
      return issued;
    },

    /** Gives a new pair for a refresh token and writes only that it was exchanged. @param isKept the program cannot renew its token by itself, so that it is one for long. */
    async refresh(refreshToken: string, ip: string, isKept = false): Promise<IssuedTokens | SignInRefusal> {
      if (!(await asked.take(networkOf(ip)))) return 'slow_down';
      const hash = hashOf(refreshToken);
      const signIn = await repository.byRefresh(hash);
      if (signIn === undefined) {
        const former = await repository.byPrevious(hash);
        // Two hold the same secret, and nobody knows which of them is the thief.
        if (former !== undefined && seconds() - former.rotated_at > graceSeconds) await end(former);
        const older = former === undefined ? await rowOf(refreshToken) : undefined;
        if (older !== undefined) await end({ token_id: older.id });
        return 'invalid_grant';
      }
      const row = await repository.token(signIn.token_id);
      const user = row === undefined ? undefined : await openUser(row.user_id);
      if (row === undefined || user === undefined) return 'invalid_grant';
      if (row.status !== TokenStatus.enabled || (row.expires_at !== -1 && row.expires_at <= seconds()))
        return 'invalid_grant';
      const next = refreshFor(row);
      if (!(await repository.rotate(signIn.id, hash, hashOf(next), seconds()))) return 'invalid_grant';
      return issue(row, next, user, isKept ? keptTimes : 1);
    },

    /** Programs that are signed in as a user, the latest first. */
    async list(userId: number): Promise<SignedInProgram[]> {
      const today = periodStart('day', seconds());
      return (await repository.list(userId)).map((row) => ({
        id: row.id,
        name: row.name,
        client: nameOf(row.client),
        host: row.host === unknownHost ? '' : row.host,
        address: row.address,
        created_time: row.created_at,
        last_used_time: Math.max(row.last_used_at, row.accessed_at),
        spent_today: row.day_at >= today ? row.day_used : 0,
      }));
    },

    /** @returns the id of the user as whom the program of this key is signed in; null = there is none. */
    ownerOf: async (tokenId: number): Promise<number | null> => (await repository.get(tokenId))?.user_id ?? null,

    /** Ends the sign-in of a key. @param owner of the key. */
    async endOf(tokenId: number, owner: number, by: { id: number; username: string }, ip: string): Promise<void> {
      if ((await deps.tokens.removeMany([tokenId], owner)) > 0)
        await record('sign_in.revoke', by, ip, { id: tokenId, user: owner });
    },

    /** Ends the sign-in that a refresh token belongs to, also one that was exchanged since; of others it knows nothing. RFC 7009 2.2. */
    async revoke(refreshToken: string, ip: string): Promise<'slow_down' | undefined> {
      if (!(await asked.take(networkOf(ip)))) return 'slow_down';
      const row = await rowOf(refreshToken);
      const signIn = row === undefined ? await repository.byRefresh(hashOf(refreshToken)) : await repository.of(row.id);
      if (signIn === undefined) return undefined;
      const ended = row ?? (await repository.token(signIn.token_id));
      await end(signIn);
      const user = ended === undefined ? undefined : await deps.users.find(ended.user_id);
      if (user !== undefined) await record('sign_in.revoke', user, ip, { id: signIn.token_id, host: signIn.host });
      return undefined;
    },
  };
}
