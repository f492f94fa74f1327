/** What a program asks of the gateway that it signed in to: rules of the operator, the use of its budgets, and a place for what it reports of itself. Reads memory, and the site's ledger where several machines share it. */

import type { Balances } from '../../billing/balances/money.ts';
import { writesText } from '../../contract/agents.ts';
import { AppError } from '../../contract/errors.ts';
import type { GatewayPath, GatewayRules } from '../../protocols/definition.ts';
import { allCodecs } from '../../protocols/registry.ts';
import { isFreeSelfUse } from '../admission/gate.ts';
import type { KeyBudgets } from '../admission/key-budgets.ts';
import type { Authorize } from '../intake/authorize.ts';
import type { Peer } from '../intake/parsed-request.ts';
import type { RelayState } from '../state/state.ts';
import { answerKept, namesFor } from './models.ts';

export interface GatewayClientDeps {
  readonly state: RelayState;
  readonly balances: Balances;
  readonly authorize: Authorize;
  readonly keyBudgets: KeyBudgets;
}

interface Asked {
  readonly rules: GatewayRules;
  readonly kind: GatewayPath;
}

const asked: ReadonlyMap<string, Asked> = new Map(
  allCodecs.flatMap(({ definition: { gateway: rules } }) =>
    rules === undefined ? [] : [...rules.paths].map(([path, kind]) => [path, { rules, kind }] as const),
  ),
);

/** One slash at its end is forgiven. */
const plain = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path);

export const isGatewayClientPath = (path: string): boolean => asked.has(plain(path));

/** @throws AppError route_unknown where programs may not sign in, method_not_allowed, as `identify` does, storage_unavailable. */
export async function answerGatewayClient(
  deps: GatewayClientDeps,
  request: Request,
  path: string,
  peer: Peer,
): Promise<Response> {
  const { state, authorize, balances, keyBudgets } = deps;
  const { settings } = state;
  const found = asked.get(plain(path));
  if (found === undefined || !settings.agentSignIn)
    throw new AppError('route_unknown', { method: request.method, path });
  if (request.method !== (found.kind === 'sink' ? 'POST' : 'GET'))
    throw new AppError('method_not_allowed', { method: request.method });
  // A key that is used up still reads how much it was.
  const caller = authorize.identify(request, peer, true);
  switch (found.kind) {
    case 'sink':
      return new Response(null);
    case 'absent':
      throw new AppError('route_unknown', { method: request.method, path });
    case 'settings': {
      const models = namesFor(deps, caller).filter(writesText);
      const { body, etag } = found.rules.settings(models, settings.claudeEnvironment, String(caller.user.id));
      return answerKept(request, JSON.stringify(body), etag);
    }
    case 'usage': {
      const { user, token } = caller;
      const funds = token === null ? null : await keyBudgets.read(balances.account(user.id, token.id));
      if (token === null || funds === null) throw new AppError('storage_unavailable', { reason: '', seconds: 2 });
      const isFree = isFreeSelfUse(settings, caller);
      const { labels } = token;
      const holders = balances.budgets.of({ tokenId: token.id, userId: user.id, userGroup: user.group, labels });
      const budgets = keyBudgets.of(funds, 'all', { limits: token.limits, isFree, holders });
      return Response.json(found.rules.usage(budgets, funds.monthUsed, settings.quotaPerUnit), {
        headers: { 'cache-control': 'no-store' },
      });
    }
  }
}
