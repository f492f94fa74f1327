/** The declarative file: what a site should have. Absent fields are left alone, null puts an option back or takes a ratio out. */
import * as z from 'zod/mini';

const list = z.union([z.string(), z.array(z.string())]);
const json = z.union([z.string(), z.record(z.string(), z.unknown())]);
const optional = <T extends z.ZodMiniType>(type: T) => z.optional(type);
const named = z.string().check(z.minLength(1));
/** Quota, or dollars as `5usd`: read like the amounts of the console and of the flags. */
const amount = z.union([z.int().check(z.minimum(0)), named]);
/** Epoch seconds, `never`, a date, or a span like `30d` from when the object was made. */
const expiry = z.union([z.int(), named]);

const provisionedChannel = z.strictObject({
  name: named,
  /** Provider by name or number. */
  type: z.union([z.string(), z.int()]),
  /** Absent for a channel that exists: its key stays. */
  key: optional(z.string()),
  status: optional(z.enum(['enabled', 'disabled'])),
  models: optional(list),
  group: optional(list),
  base_url: optional(z.string()),
  priority: optional(z.int()),
  weight: optional(z.int()),
  tag: optional(z.string()),
  test_model: optional(z.string()),
  openai_organization: optional(z.string()),
  other: optional(z.string()),
  model_mapping: optional(json),
  status_code_mapping: optional(json),
  param_override: optional(json),
  setting: optional(json),
  auto_ban: optional(z.int()),
  max_input_tokens: optional(z.int()),
});
export type ProvisionedChannel = z.infer<typeof provisionedChannel>;

const provisionedUser = z.strictObject({
  username: named,
  /** Absent for a new user: login by password is impossible until one is set. */
  password: optional(z.string()),
  display_name: optional(z.string()),
  group: optional(z.string()),
  role: optional(z.enum(['user', 'admin', 'root'])),
  status: optional(z.enum(['enabled', 'disabled'])),
  /** Balance that a new user starts with; one who is there already keeps his. */
  quota: optional(amount),
});
export type ProvisionedUser = z.infer<typeof provisionedUser>;

const provisionedToken = z.strictObject({
  name: named,
  /** Username; absent = the first administrator. */
  owner: optional(z.string()),
  /** The key itself, with or without `sk-`; absent = made up for a new token, kept for an existing one. */
  key: optional(z.string()),
  status: optional(z.enum(['enabled', 'disabled'])),
  /** Total quota the token may use; `unlimited`. */
  quota: optional(z.union([amount, z.literal('unlimited')])),
  expires: optional(expiry),
  models: optional(list),
  allow_ips: optional(list),
  group: optional(z.string()),
  rpm_limit: optional(z.int()),
  tpm_limit: optional(z.int()),
  concurrency_limit: optional(z.int()),
  day_budget: optional(amount),
  month_budget: optional(amount),
});
export type ProvisionedToken = z.infer<typeof provisionedToken>;

const provisionedCode = z.strictObject({
  name: named,
  /** Of each. */
  quota: amount,
  /** The code itself; absent = codes are made up until `count` of this name have been made, used ones included. */
  code: optional(z.string()),
  count: optional(z.int().check(z.minimum(1))),
  expires: optional(expiry),
});
export type ProvisionedCode = z.infer<typeof provisionedCode>;

export const provisionDocument = z.strictObject({
  version: z.literal(1),
  /** Whose objects these are; `--prune` removes only objects of the same label. */
  label: optional(z.string()),
  options: optional(z.record(z.string(), z.unknown())),
  /** Group -> ratio, merged into GroupRatio. */
  groups: optional(z.record(z.string(), z.nullable(z.number()))),
  /** Price map -> model -> ratio, merged. */
  ratios: optional(z.record(z.string(), z.record(z.string(), z.unknown()))),
  channels: optional(z.array(provisionedChannel)),
  users: optional(z.array(provisionedUser)),
  tokens: optional(z.array(provisionedToken)),
  codes: optional(z.array(provisionedCode)),
});
export type ProvisionDocument = z.infer<typeof provisionDocument>;

export const provisionChange = z.object({
  action: z.enum(['create', 'update', 'delete', 'unchanged']),
  kind: z.enum(['option', 'user', 'channel', 'token', 'code']),
  name: z.string(),
  /** What differs: `field: before -> after`, secrets never shown. */
  fields: z.array(z.string()),
  /** What the author of the file has to know; absent = nothing. */
  notes: optional(z.array(z.object({ zh: z.string(), en: z.string() }))),
});
export type ProvisionChange = z.infer<typeof provisionChange>;
