/** The declarative file: what a site should have. Absent fields are left alone, null puts an option back or takes a ratio out. */
import * as z from 'zod/mini';
import { budgetUnits, budgetWindows } from './budgets.ts';
import { scheduleEvery } from './statement-schedule.ts';

export const unlimited = 'unlimited';

/** A link is known to who has it alone, and ends: a file could neither keep it nor make the same one again. */
const linksRefused = 'links are not declared: gateway link create makes one, and says it once';

/** How other programs write a reference; this file writes `{env: NAME}` and `{file: PATH}`. */
const reference = /^\s*(?:\$\{[^{}]*\}|\$[A-Z_][A-Z0-9_]*|\$\(.*\)|\{\{.*\}\}|os\.environ\/\S+|%[A-Z_][A-Z0-9_]*%)\s*$/;
const isReference = (value: unknown): boolean => typeof value === 'string' && reference.test(value);
const unresolved = 'is a reference that nothing resolves here: write {env: NAME} or {file: PATH}';
const text = z.string().check(z.refine((value) => !isReference(value), unresolved));
const list = z.union([text, z.array(text)]);
/** What an unset variable leaves would lift the limit: `unlimited` does. */
const limit = list.check(
  z.refine(
    (value) => value.length > 0 && [value].flat().every((item) => item.trim() !== ''),
    'is empty: write unlimited, or what it is limited to',
  ),
);
/** Channels by name, or by number where several have the name. */
const channelRefs = z.union([limit, z.int(), z.array(z.union([text, z.int()])).check(z.minLength(1))]);
const json = z.union([z.string(), z.record(z.string(), z.unknown())]);
const optional = <T extends z.ZodMiniType>(type: T) => z.optional(type);
const named = text.check(z.refine((value) => value.trim() !== '', 'is empty'));
/** 0 and `unlimited` = no limit. */
const rate = z.union([z.int().check(z.minimum(0)), z.literal(unlimited)]);
/** Quota, or dollars as `5usd`: read like the amounts of the console and of the flags. */
const amount = z.union([z.int().check(z.minimum(0)), named]);
/** Epoch seconds, `never`, a date, or a span like `30d` from when the object was made. */
const expiry = z.union([z.int(), named]);

const provisionedChannel = z.strictObject({
  name: named,
  /** Provider by name or number. */
  type: z.union([text, z.int()]),
  /** Absent for a channel that exists: its key stays. */
  key: optional(text),
  status: optional(z.enum(['enabled', 'disabled'])),
  models: optional(list),
  group: optional(list),
  /** `default` = the maker's own. */
  base_url: optional(named),
  priority: optional(z.int()),
  weight: optional(z.int()),
  tag: optional(text),
  test_model: optional(text),
  openai_organization: optional(text),
  other: optional(text),
  model_mapping: optional(json),
  status_code_mapping: optional(json),
  param_override: optional(json),
  setting: optional(json),
  auto_ban: optional(z.int()),
  max_input_tokens: optional(z.int()),
  /** Keys of the channel that are switched off, by name or hint; an empty list switches all on. */
  keys_off: optional(list),
  /** What its upstream does not take, `gpt-5.1 openai-chat:temperature`; what was learnt besides stays. */
  unsupported: optional(z.array(text)),
});
export type ProvisionedChannel = z.infer<typeof provisionedChannel>;

const provisionedUser = z.strictObject({
  username: named,
  /** Absent for a new user: login by password is impossible until one is set. */
  password: optional(text),
  display_name: optional(text),
  group: optional(named),
  role: optional(z.enum(['user', 'admin', 'root'])),
  status: optional(z.enum(['enabled', 'disabled'])),
  /** Balance that a new user starts with; one who is there already keeps his. */
  quota: optional(amount),
});
export type ProvisionedUser = z.infer<typeof provisionedUser>;

const provisionedToken = z.strictObject({
  name: named,
  /** Username; absent = the first administrator. */
  owner: optional(named),
  /** The key itself, with or without `sk-`; absent = made up for a new token, kept for an existing one. */
  key: optional(text),
  status: optional(z.enum(['enabled', 'disabled'])),
  /** Total quota the token may use; `unlimited`. */
  quota: optional(z.union([amount, z.literal(unlimited)])),
  expires: optional(expiry),
  /** `unlimited` = every model, and every address. */
  models: optional(limit),
  allow_ips: optional(limit),
  group: optional(text),
  rpm_limit: optional(rate),
  tpm_limit: optional(rate),
  concurrency_limit: optional(rate),
  day_budget: optional(amount),
  month_budget: optional(amount),
  labels: optional(list),
  /** The channels that alone serve it; `unlimited` = every channel of its groups. */
  channels: optional(channelRefs),
});
export type ProvisionedToken = z.infer<typeof provisionedToken>;

const provisionedCode = z.strictObject({
  name: named,
  /** Quota of each. */
  quota: amount,
  /** The code itself; absent = codes are made up until `count` of this name have been made, used ones included. */
  code: optional(named),
  count: optional(z.int().check(z.minimum(1))),
  expires: optional(expiry),
});
export type ProvisionedCode = z.infer<typeof provisionedCode>;

const provisionedVirtualModel = z.strictObject({
  name: named,
  enabled: optional(z.boolean()),
  /** The group that no request leaves; '' = none. */
  boundary: optional(text),
  description: optional(text),
  /** In order, each a model with its conditions. */
  targets: z.array(z.record(z.string(), z.unknown())),
});
export type ProvisionedVirtualModel = z.infer<typeof provisionedVirtualModel>;

const provisionedBudget = z.strictObject({
  /** One of the four says whose it is: the whole site, all users of a group, a user, or a key of `owner`. */
  site: optional(z.literal(true)),
  group: optional(named),
  user: optional(named),
  token: optional(named),
  /** Username; absent = the first administrator. */
  owner: optional(named),
  /** All keys that have it. */
  label: optional(named),
  /** Each end user of a key of this name, for himself. */
  end_users_of: optional(named),
  window: z.enum(budgetWindows),
  /** Absent = money, tokens for the window `request`. */
  unit: optional(z.enum(budgetUnits)),
  /** Money as elsewhere in the file; of requests and tokens a number. */
  amount,
  /** IANA name; '' = UTC. */
  zone: optional(text),
});
export type ProvisionedBudget = z.infer<typeof provisionedBudget>;

const provisionedSchedule = z.strictObject({
  /** Whose statement: a user, a key of `owner`, a tag of channels, or a label or project (of `user` alone, where named). */
  user: optional(named),
  token: optional(named),
  /** Username; absent = the first administrator. */
  owner: optional(named),
  tag: optional(named),
  label: optional(named),
  project: optional(named),
  /** Absent = month. */
  every: optional(z.enum(scheduleEvery)),
  /** Who gets it; absent = the user whose statement it is, of a tag, a label or a project the first administrator. */
  to: optional(named),
  /** Another address than that user's own; '' = his own. */
  email: optional(text),
  status: optional(z.enum(['enabled', 'disabled'])),
});
export type ProvisionedSchedule = z.infer<typeof provisionedSchedule>;

export const provisionDocument = z.strictObject({
  version: z.literal(1),
  /** Whose objects these are; `--prune` removes only objects of the same label. */
  label: optional(named),
  options: optional(z.record(z.string(), z.unknown().check(z.refine((value) => !isReference(value), unresolved)))),
  /** Group -> ratio, merged into GroupRatio. */
  groups: optional(z.record(z.string(), z.nullable(z.number()))),
  /** Price map -> model -> ratio, merged. */
  ratios: optional(z.record(z.string(), z.record(z.string(), z.unknown()))),
  channels: optional(z.array(provisionedChannel)),
  virtual_models: optional(z.array(provisionedVirtualModel)),
  users: optional(z.array(provisionedUser)),
  tokens: optional(z.array(provisionedToken)),
  codes: optional(z.array(provisionedCode)),
  budgets: optional(z.array(provisionedBudget)),
  /** Statements by mail. */
  schedules: optional(z.array(provisionedSchedule)),
  links: optional(z.never({ error: linksRefused })),
});
export type ProvisionDocument = z.infer<typeof provisionDocument>;

export const provisionChange = z.object({
  action: z.enum(['create', 'update', 'delete', 'unchanged']),
  kind: z.enum(['option', 'user', 'channel', 'virtual_model', 'token', 'code', 'budget', 'schedule']),
  name: z.string(),
  /** What differs: `field: before -> after`, secrets never shown. */
  fields: z.array(z.string()),
  /** What the author of the file has to know; absent = nothing. */
  notes: optional(z.array(z.object({ zh: z.string(), en: z.string() }))),
});
export type ProvisionChange = z.infer<typeof provisionChange>;
