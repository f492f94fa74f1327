/** Set-up, status, options, groups, and what only the owner of the data directory may ask. */

import { Role } from '../../contract/enum.ts';
import { openApi } from '../../contract/openapi.ts';
import { pricesAge, pricesDate } from '../../contract/pricing/defaults.ts';
import type { StorageStatus } from '../../contract/storage.ts';
import { programCalls } from '../program-calls.ts';
import { relayCalls } from '../relay-calls.ts';
import type { HandlersOf } from './handlers-of.ts';

/** @returns what is worth a line: nothing while all is well but that it is. */
const storageFields = ({ ok, reason, waiting, late, refused: rejected }: StorageStatus) => ({
  storage: reason === '' ? 'ok' : reason,
  ...(ok ? {} : { settlements_waiting: waiting }),
  ...(late > 0 ? { late_ends: late } : {}),
  ...(rejected > 0 ? { settlements_refused: rejected } : {}),
});

export const siteHandlers: HandlersOf<
  | 'setup.get'
  | 'setup.run'
  | 'status.get'
  | 'status.openapi'
  | 'status.notice'
  | 'status.about'
  | 'status.home'
  | 'status.models'
  | 'status.overview'
  | 'update.check'
  | 'status.test'
  | 'option.list'
  | 'option.set'
  | 'option.details'
  | 'option.reset'
  | 'option.reset_ratios'
  | 'group.list'
  | 'ledger.verify'
> = {
  'setup.get': async ({ services, actor }) => ({
    ...(await services.setup.state()),
    code_required: actor.via !== 'local',
  }),
  'setup.run': async ({ services, input, actor }) => {
    // Where a connection comes from proves nothing: a proxy or a forwarder on this machine looks like its owner.
    if (actor.via !== 'local' && !(await services.setup.isDone())) await services.setup.checkCode(input.code ?? '');
    await services.setup.run({
      username: input.username ?? '',
      password: input.password ?? '',
      confirmPassword: input.confirmPassword ?? '',
      selfUse: input.SelfUseModeEnabled ?? false,
      demo: input.DemoSiteEnabled ?? false,
    });
  },
  'status.get': async ({ services, actor }) => ({
    ...(await services.status.payload()),
    // Only for administrators: it would help an attacker.
    ...(actor.via === 'local' || actor.role >= Role.admin
      ? {
          storage: services.storage(),
          relays: services.relayThreads,
          ...(services.nodes.several ? { several_nodes: true } : {}),
        }
      : {}),
  }),
  'status.openapi': async ({ services, meta, input }) =>
    openApi({
      version: services.version,
      // Programs that read it name no language; most of them are not read in Chinese.
      language: input.lang ?? meta.requestLanguage ?? 'en',
      address: meta.origin + meta.basePath,
      calls: [...relayCalls, ...programCalls],
    }),
  'status.notice': async ({ services }) => services.status.notice(),
  'status.about': async ({ services }) => services.status.about(),
  'status.home': async ({ services }) => services.status.home(),
  'status.models': async ({ services, actor }) => {
    const { data } = await services.priceList.read(actor.group);
    const levels = await services.modelLevels();
    return Object.fromEntries(data.map(({ model_name: model }) => [model, levels.get(model) ?? 'none']));
  },
  'status.overview': async ({ services, actor }) => {
    const setupCode = actor.via === 'local' ? await services.setup.openCode() : null;
    const now = Math.floor(Date.now() / 1000);
    const { items, total } = await services.channels.list({}, 0, 1000);
    const tokens = await services.tokens.list(null, 0, 1);
    const { rpm, tpm } = await services.logs.stat({ from: now - 60 });
    return {
      users: await services.users.count(),
      tokens: tokens.total,
      channels: total,
      channels_disabled: items.filter((channel) => channel.status !== 1).length,
      rpm,
      tpm,
      setup: await services.setup.isDone(),
      ...(setupCode === null ? {} : { setup_code: setupCode }),
      ...(services.relayThreads === 0 ? {} : { relays: services.relayThreads }),
      ...storageFields(services.storage()),
      prices_as_of: pricesDate,
      prices_age_days: pricesAge(services.options.now()),
      prices_proposed: await services.proposals.count(),
    };
  },
  'status.test': async ({ services }) => void (await services.users.count()),
  'update.check': ({ services }) => services.checkForUpdate(),
  'option.list': async ({ services }) =>
    services.options
      .list()
      .filter((option) => !option.secret)
      .map(({ key, value }) => ({ key, value })),
  'option.set': async ({ services, input: { key, value }, actor, reply }) => {
    const changed = value !== undefined && (await services.options.set(key, value, actor.role, actor.username));
    if (!changed) reply.unchanged();
    return { result: changed ? 'updated' : 'unchanged' };
  },
  'option.details': async ({ services }) =>
    services.options.list().map(({ key, value, secret, isSet }) => ({ key, value, secret, is_set: isSet })),
  'option.reset': async ({ services, input, actor, reply }) => {
    const changed = await services.options.reset(input.key, actor.role, actor.username);
    if (!changed) reply.unchanged();
    return { result: changed ? 'updated' : 'unchanged' };
  },
  'option.reset_ratios': async ({ services, actor, reply }) => {
    const { changed, version } = await services.options.resetRatios(actor.role, actor.username);
    if (!changed) reply.unchanged();
    return { version };
  },
  'group.list': async ({ services }) => [...services.options.get('GroupRatio').keys()],
  'ledger.verify': ({ services }) => services.verifyLedger(),
};
