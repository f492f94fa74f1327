/** Whom one talks to, and every parameter that the models take. */
import { useTranslation } from 'react-i18next';
import { NumberField } from '../../components/amount-fields.tsx';
import { CheckBox } from '../../components/filters.tsx';
import { Field } from '../../components/form.tsx';
import { Icon } from '../../components/icon.tsx';
import { SelectField } from '../../components/select.tsx';
import { call } from '../../lib/api.ts';
import { dollarText } from '../../lib/currency.ts';
import { useMoneyDetails } from '../../lib/money.ts';
import { useOptionalRead } from '../../lib/read.ts';
import { type ModelSupport, numberRows, type Settings, seedBounds, tokenBounds } from './conversation.ts';

interface Group {
  readonly desc?: string;
  readonly ratio?: number | string;
}

function GroupField({ group, onChange }: { readonly group: string; readonly onChange: (group: string) => void }) {
  const { t } = useTranslation();
  const groups = useOptionalRead({ queryKey: ['own-groups'], queryFn: () => call('user.groups') }).data ?? {};
  return (
    <SelectField
      label={t('playground.group')}
      value={group}
      options={[
        ['', t('playground.ownGroup')],
        ...Object.entries(groups as Record<string, Group>).map(
          ([name, { desc, ratio }]) => [name, `${desc || name} (${ratio ?? 1}×)`] as const,
        ),
      ]}
      onChange={onChange}
    />
  );
}

/** Dollars for a million tokens in and out, as the price list has them; '' = it is not there. */
function usePrice(model: string): string {
  const { t } = useTranslation();
  const details = useMoneyDetails();
  const list = useOptionalRead({
    queryKey: ['playground-prices'],
    queryFn: () => call('pricing.get'),
    staleTime: 300_000,
  }).data;
  const found = list?.data.find(({ model_name: name }) => name === model);
  if (found === undefined || details === null) return '';
  if (found.quota_type === 1) return t('playground.perCall', { price: dollarText(found.model_price) });
  const input = (found.model_ratio * 1_000_000) / details.quotaPerUnit;
  return t('playground.perMillion', { in: dollarText(input), out: dollarText(input * found.completion_ratio) });
}

interface ModelFieldProps {
  readonly label: string;
  /** The value as it is chosen; '' = the usual one. */
  readonly value: string;
  readonly name: string;
  readonly known: readonly string[];
  readonly none: boolean;
  readonly onChange: (model: string) => void;
  readonly onRemove: (() => void) | null;
}

function ModelField({ label, value, name, known, none, onChange, onRemove }: ModelFieldProps) {
  const { t } = useTranslation();
  const price = usePrice(name);
  return (
    <Field label={label} help={none ? t('playground.noModels') : price}>
      {(ids) => (
        <div className="relative flex gap-1">
          <input
            {...ids}
            className="field min-w-0 flex-1 pr-7 font-mono text-[12px] [&::-webkit-calendar-picker-indicator]:opacity-0"
            list="playground-models"
            placeholder={none ? t('playground.noModel') : undefined}
            value={value === '' ? name : value}
            onFocus={(event) => event.target.select()}
            onChange={(event) => onChange(event.target.value)}
          />
          <span
            aria-hidden="true"
            className={`pointer-events-none absolute inset-y-0 grid place-items-center text-ink-3 ${onRemove === null ? 'right-2' : 'right-10'}`}
          >
            <Icon name="down" />
          </span>
          <datalist id="playground-models">
            {known.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
          {onRemove === null ? null : (
            <button
              type="button"
              className="button button-ghost button-icon h-8"
              aria-label={t('playground.removeModel', { model: name })}
              onClick={onRemove}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      )}
    </Field>
  );
}

/** A number stands at the right of its name. */
const besideLabel = '-mt-6 h-7 justify-self-end px-2 max-sm:-mt-8 max-sm:h-9 [&_input]:text-right';

const otherNames = ['seed', 'stop', 'tools', 'extra'] as const;

export interface SettingsFormProps {
  readonly settings: Settings;
  readonly models: readonly string[];
  /** By place. */
  readonly names: readonly string[];
  /** Models of the account; undefined = not read yet. */
  readonly known: readonly string[] | undefined;
  readonly takes: readonly (ModelSupport | undefined)[];
  readonly onModels: (models: readonly string[]) => void;
  readonly onChange: (some: Partial<Settings>) => void;
}

export function SettingsForm({ settings, models, names, known, takes, onModels, onChange }: SettingsFormProps) {
  const { t } = useTranslation();
  /** Every model that is asked refuses it. */
  const refused = (member: string) =>
    takes.length > 0 &&
    takes.every((one) => (one?.refuses as readonly string[] | undefined)?.includes(member) === true);
  const efforts = [...new Set(takes.flatMap((one) => one?.efforts ?? []))];
  const cap = Math.min(...takes.map((one) => one?.output_cap ?? Number.POSITIVE_INFINITY));
  /** The temperature alone, or what is set less often. */
  const sliders = (main: boolean) =>
    numberRows
      .filter(({ name }) => (name === 'temperature') === main)
      .map(({ name, bounds, step, rest, refusal }) => (
        <div key={name} className="mb-2">
          <NumberField
            label={t(`playground.${name}`)}
            help={refused(refusal) ? t('playground.refused') : undefined}
            empty="–"
            disabled={refused(refusal)}
            className={`w-16 ${besideLabel}`}
            bounds={bounds}
            value={settings[name]}
            onChange={(value) => onChange({ [name]: value })}
          />
          <input
            type="range"
            {...bounds}
            step={step}
            aria-label={t(`playground.${name}`)}
            aria-valuetext={settings[name] === '' ? t('playground.modelDecides') : undefined}
            className={`slider -mt-3.5 ${settings[name] === '' ? 'slider-unset' : ''}`}
            disabled={refused(refusal)}
            value={settings[name] === '' ? rest : settings[name]}
            onChange={(event) => onChange({ [name]: event.target.value })}
          />
        </div>
      ));
  const rare = [...numberRows.map(({ name }) => name).filter((name) => name !== 'temperature'), ...otherNames];
  const set = rare.filter((name) => settings[name].trim() !== '').length;
  return (
    <div className="px-5 py-4">
      {names.map((name, place) => (
        <ModelField
          // biome-ignore lint/suspicious/noArrayIndexKey: a model keeps its place
          key={place}
          label={place === 0 ? t('playground.model') : t('playground.modelAt', { place: place + 1 })}
          value={models[place] ?? ''}
          name={name}
          known={known ?? []}
          none={known?.length === 0 && place === 0}
          onChange={(next) => onModels(models.map((one, at) => (at === place ? next : one)))}
          onRemove={place === 0 ? null : () => onModels(models.filter((_one, at) => at !== place))}
        />
      ))}
      <GroupField group={settings.group} onChange={(group) => onChange({ group })} />
      <Field label={t('playground.system')}>
        {(ids) => (
          <textarea
            {...ids}
            className="field"
            rows={3}
            placeholder={t('playground.defaultSystem')}
            value={settings.system}
            onChange={(event) => onChange({ system: event.target.value })}
          />
        )}
      </Field>
      {sliders(true)}
      <NumberField
        label={t('playground.maxTokens')}
        empty={t('playground.modelDecides')}
        help={Number.isFinite(cap) ? t('playground.cap', { count: cap }) : t('playground.noCap')}
        className={`w-36 ${besideLabel}`}
        bounds={tokenBounds}
        value={settings.max_tokens}
        onChange={(value) => onChange({ max_tokens: value })}
      />
      {efforts.length === 0 ? null : (
        <SelectField
          label={t('playground.effort')}
          value={efforts.includes(settings.effort) ? settings.effort : ''}
          options={[['', t('playground.modelDecides')], ...efforts.map((effort) => [effort, effort] as const)]}
          onChange={(effort) => onChange({ effort })}
        />
      )}
      <p className="mb-3 flex flex-wrap gap-4">
        <CheckBox
          className="flex items-center gap-2"
          label={t('playground.stream')}
          checked={settings.stream}
          onChange={(stream) => onChange({ stream })}
        />
        <CheckBox
          className="flex items-center gap-2"
          label={t('playground.json')}
          checked={settings.json}
          onChange={(json) => onChange({ json })}
        />
      </p>
      <details className="mb-4">
        <summary className="mb-3 cursor-pointer text-ink-2">
          {t('playground.more')}
          {set === 0 ? null : <span className="text-ink-3"> · {set}</span>}
        </summary>
        {sliders(false)}
        <NumberField
          label={t('playground.seed')}
          empty={t('playground.modelDecides')}
          bounds={seedBounds}
          value={settings.seed}
          onChange={(seed) => onChange({ seed })}
        />
        {(
          [
            ['stop', 2],
            ['tools', 5],
            ['extra', 3],
          ] as const
        ).map(([name, rows]) => (
          <Field
            key={name}
            label={t(`playground.${name}`)}
            help={name === 'stop' && refused('stop') ? t('playground.refused') : t(`playground.${name}Help`)}
          >
            {(ids) => (
              <textarea
                {...ids}
                className="field font-mono text-[12px]"
                rows={rows}
                spellCheck={false}
                value={settings[name]}
                onChange={(event) => onChange({ [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
      </details>
    </div>
  );
}
