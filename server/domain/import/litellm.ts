/** A LiteLLM configuration: its model list becomes channels and prices. */
import { Role } from '../../contract/enums.ts';
import { AppError } from '../../contract/errors.ts';
import { typeOfPrefix } from '../../providers/import-names.ts';
import type { ChannelsService } from '../channels/service.ts';
import type { OptionsService } from '../options/service.ts';
import { createReporter, type ImportReport } from './report.ts';

interface ModelRow {
  readonly model_name?: string;
  readonly litellm_params?: Readonly<Record<string, unknown>>;
  readonly model_info?: Readonly<Record<string, unknown>>;
}

interface Group {
  readonly type: number;
  readonly prefix: string;
  readonly key: string;
  readonly base: string;
  readonly models: Map<string, string>;
}

/** Dollars per token that a ratio of 1 stands for. */
const dollarsPerToken = 2e-6;

/** `os.environ/NAME` is how that product writes references. */
const secretOf = (value: unknown, env: Readonly<Record<string, string | undefined>>): string => {
  const text = typeof value === 'string' ? value : '';
  return text.startsWith('os.environ/') ? (env[text.slice('os.environ/'.length)] ?? '') : text;
};

const decimals = (value: number): number => Number(value.toFixed(6));

/** @throws AppError import_failed when it is no such file. */
export async function importLitellm(
  deps: {
    readonly channels: ChannelsService;
    readonly options: OptionsService;
    readonly env: Readonly<Record<string, string | undefined>>;
  },
  document: unknown,
): Promise<ImportReport> {
  const list = (document as { model_list?: unknown } | null)?.model_list;
  if (!Array.isArray(list)) throw new AppError('import_failed', { detail: 'model_list' });
  const reporter = createReporter();
  const groups = new Map<string, Group>();
  const ratios: Record<string, number> = {};
  const completions: Record<string, number> = {};
  for (const { model_name: name = '', litellm_params: params = {}, model_info: info = {} } of list as ModelRow[]) {
    const model = String(params.model ?? '');
    const [prefix = '', ...rest] = model.includes('/') ? model.split('/') : ['openai', model];
    const type = typeOfPrefix(prefix);
    const key = secretOf(params.api_key, deps.env);
    if (type === null || name === '') reporter.skipped('models', name || model, `${prefix} is not served`);
    else if (key === '') reporter.skipped('models', name, 'its key is not known: set the variable it refers to');
    else {
      const base = secretOf(params.api_base, deps.env);
      const id = JSON.stringify([type, key, base]);
      const group = groups.get(id) ?? { type, prefix, key, base, models: new Map<string, string>() };
      group.models.set(name, rest.join('/'));
      groups.set(id, group);
      reporter.taken('models');
    }
    const input = Number(info.input_cost_per_token ?? params.input_cost_per_token);
    const output = Number(info.output_cost_per_token ?? params.output_cost_per_token);
    if (input > 0) ratios[name] = decimals(input / dollarsPerToken);
    if (input > 0 && output > 0) completions[name] = decimals(output / input);
  }
  for (const [index, { type, prefix, key, base, models }] of [...groups.values()].entries()) {
    const mapping = Object.fromEntries([...models].filter(([name, upstream]) => name !== upstream));
    await deps.channels.create({
      type,
      name: groups.size === 1 ? prefix : `${prefix}-${index + 1}`,
      key,
      // Other gateways name the version; here it belongs to the path.
      base_url: base.replace(/\/v1\/?$/, ''),
      models: [...models.keys()].join(','),
      model_mapping: Object.keys(mapping).length === 0 ? '' : JSON.stringify(mapping),
    });
    reporter.taken('channels');
  }
  for (const [option, values] of [
    ['ModelRatio', ratios],
    ['CompletionRatio', completions],
  ] as const) {
    if (Object.keys(values).length === 0) continue;
    const present = JSON.parse(deps.options.text(option)) as object;
    await deps.options.set(option, JSON.stringify({ ...present, ...values }), Role.root, 'import');
    reporter.taken('options');
  }
  return reporter.report({ source: 0, imported: 0 });
}
