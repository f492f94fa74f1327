/** New-api's `operations` on headers as rules of `header_override`: what they do there follows from where they stand among the others. */
import type { SourceRow } from '../../../db/import-source.ts';
import { isRuleProblem, printedScalar, readOperations } from '../../contract/channel-rules.ts';
import { readHeaderOverride } from '../../contract/header-override.ts';
import { jsonObjectOf } from './source.ts';

type Members = Readonly<Record<string, unknown>>;

const modes: ReadonlySet<unknown> = new Set([
  'set_header',
  'delete_header',
  'copy_header',
  'move_header',
  'pass_headers',
]);

/** @returns a channel's row in which rules stand for its operations on headers; the same row where there are none, or one of them says what no rule can. */
export function withHeaderRules(row: SourceRow): SourceRow {
  const { operations, ...others } = JSON.parse(jsonObjectOf(row.param_override) || '{}') as Record<string, unknown>;
  if (!Array.isArray(operations) || !operations.some((one) => isMembers(one) && modes.has(one.mode))) return row;
  const { pass_through_body_enabled: passes } = JSON.parse(jsonObjectOf(row.setting) || '{}') as Members;
  // Where bodies passed as they were no operation acted; headers of the channel do.
  if (passes === true) return row;
  const headers = JSON.parse(jsonObjectOf(row.header_override) || '{}') as Members;
  const rules = rulesFrom(operations, headers);
  const left = operations.filter((one) => !(isMembers(one) && modes.has(one.mode)));
  if (rules === null || isRuleProblem(readHeaderOverride(rules)) || isRuleProblem(readOperations(left))) return row;
  const body = left.length === 0 ? others : { ...others, operations: left };
  return {
    ...row,
    param_override: Object.keys(body).length === 0 ? '' : JSON.stringify(body),
    header_override: JSON.stringify(rules),
  };
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const nameOf = (value: unknown): string => (typeof value === 'string' ? value.trim().toLowerCase() : '');

/** What an operation reads or leaves alone depends on what was set before: by the channel's headers, which act first, and by operations. */
class Rules {
  private readonly byName = new Map<string, readonly Members[]>();
  private readonly added = new Set<string>();

  constructor(private readonly headers: Members) {
    for (const [name, value] of Object.entries(headers)) {
      const rule = ruleOf(value);
      if (rule !== null && !/^(?:\*$|re:|regex:)/.test(nameOf(name))) this.byName.set(nameOf(name), [rule]);
    }
  }

  has(name: string): boolean {
    return this.byName.has(name);
  }

  add(name: string, rule: Members): void {
    this.byName.set(name, [...(this.byName.get(name) ?? []), rule]);
    this.added.add(name);
  }

  /** Headers that no operation is about stand as they did. */
  written(): Members {
    const kept = Object.entries(this.headers).filter(([name]) => !this.added.has(nameOf(name)));
    return Object.fromEntries([...kept, ...[...this.byName].filter(([name]) => this.added.has(name))]);
  }
}

/** @returns null = the value says nothing. */
function ruleOf(value: unknown): Members | null {
  const text = printedScalar(value)?.trim() ?? '';
  const client = /^\{client_header:([^}]*)\}$/.exec(text)?.[1];
  if (client !== undefined) return { mode: 'copy', from: client.trim() };
  return text === '' ? null : { mode: 'set', value: text };
}

/** @returns null = one of them says what no rule can. */
function rulesFrom(operations: readonly unknown[], headers: Members): Members | null {
  const rules = new Rules(headers);
  for (const [at, operation] of operations.entries()) {
    if (!isMembers(operation) || !modes.has(operation.mode)) continue;
    const { conditions, logic, keep_origin: keeps } = operation;
    const when = conditions === undefined ? {} : { conditions, ...(logic === undefined ? {} : { logic }) };
    // Conditions here read the body that goes out; there, as it was so far.
    const changesLater = operations
      .slice(at + 1)
      .some((one) => isMembers(one) && !modes.has(one.mode) && one.mode !== 'return_error');
    if (conditions !== undefined && changesLater) return null;
    const added = addedBy(operation);
    if (added === null) return null;
    for (const { name, rule } of added) {
      // It reads, keeps or takes away what rules set; of the client's headers alone rules can say the same.
      const readsRules = rule.mode === 'copy' && rules.has(nameOf(rule.from));
      if (name === '' || readsRules || (keeps === true && rules.has(name))) return null;
      rules.add(name, { ...rule, ...when });
    }
    // What was not set by a rule before goes up neither way.
    if (operation.mode === 'delete_header' && rules.has(nameOf(operation.path))) return null;
  }
  return rules.written();
}

/** @returns null = no rule can say it. */
function addedBy(operation: Members): readonly { readonly name: string; readonly rule: Members }[] | null {
  const { mode, path, value } = operation;
  if (mode === 'delete_header') return [];
  if (mode === 'pass_headers') {
    const names = typeof value === 'string' ? value.split(',') : value;
    return Array.isArray(names) && names.length > 0
      ? names.map((one) => ({ name: nameOf(one), rule: { mode: 'copy', from: nameOf(one) } }))
      : null;
  }
  if (mode === 'set_header') {
    const rule = ruleOf(value);
    return rule === null ? null : [{ name: nameOf(path), rule }];
  }
  const [from, to] = [nameOf(operation.from) || nameOf(path), nameOf(operation.to) || nameOf(path)];
  return from === '' ? null : [{ name: to, rule: { mode: 'copy', from } }];
}
