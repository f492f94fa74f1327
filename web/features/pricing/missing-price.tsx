/** Models that are refused because they have no price, in one line, each with a price it might have. */
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { Link } from 'wouter';
import { dollarText } from '../../lib/currency.ts';
import { type AdminModel, isPriced } from './model-rows.ts';

export type SuggestedModel = AdminModel & { readonly suggestion: NonNullable<AdminModel['suggestion']> };

export const suggestedIn = (models: readonly AdminModel[]): readonly SuggestedModel[] =>
  models.filter((one): one is SuggestedModel => !isPriced(one) && one.suggestion !== null);

/** As `ratio.set` takes it. */
export const priceOf = ({ suggestion }: SuggestedModel) =>
  suggestion.per_call !== null
    ? { per_call: suggestion.per_call }
    : { input: suggestion.input ?? 0, output: suggestion.output ?? 0 };

function words(t: TFunction, { suggestion }: SuggestedModel): string {
  const { like, input, output, per_call: call } = suggestion;
  const price =
    call !== null
      ? t('pricing.each', { price: dollarText(call) })
      : input === 0 && output === 0
        ? t('pricing.free')
        : `$${dollarText(input)} / $${dollarText(output)}`;
  return like !== '' ? t('pricing.likeModel', { like, price }) : input === 0 ? price : t('pricing.likeSize', { price });
}

/** More than these are a list in the settings. */
const maxModels = 6;

export interface MissingPriceProps {
  readonly models: readonly AdminModel[];
  readonly onApply: (some: readonly SuggestedModel[]) => void;
}

export function MissingPrice({ models, onApply }: MissingPriceProps) {
  const { t } = useTranslation();
  const unpriced = models.filter((one) => !isPriced(one));
  if (unpriced.length === 0) return null;
  const suggested = new Map(suggestedIn(unpriced).map((one) => [one.model, one]));
  return (
    <div className="mx-5 mb-3 flex flex-wrap items-center gap-x-3 gap-y-1 rounded-1 border-l-2 border-warning-solid bg-warning-soft px-3 py-2 text-warning">
      <strong className="font-semibold">{t('pricing.unpriced', { count: unpriced.length })}</strong>
      {unpriced.slice(0, maxModels).map(({ model }) => {
        const one = suggested.get(model);
        return (
          <span key={model} className="inline-flex flex-wrap items-center gap-x-1.5 max-sm:min-h-9">
            <code className="font-mono text-[12px]">{model}</code>
            {one === undefined ? (
              <Link
                className="inline-flex min-h-6 items-center text-warning underline"
                href={`/setting?tab=operation&block=unset_models`}
              >
                {t('pricing.setPrice')}
              </Link>
            ) : (
              <>
                <span>→ {words(t, one)}</span>
                <button type="button" className="min-h-6 underline" onClick={() => onApply([one])}>
                  {t('pricing.apply')}
                  <span className="sr-only"> {model}</span>
                </button>
              </>
            )}
          </span>
        );
      })}
      {unpriced.length > maxModels ? (
        <Link
          className="inline-flex min-h-6 items-center text-warning underline"
          href="/setting?tab=operation&block=unset_models"
        >
          {t('pricing.moreUnpriced', { count: unpriced.length - maxModels })}
        </Link>
      ) : null}
    </div>
  );
}
