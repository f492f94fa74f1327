/** What a target of a virtual model costs, in a few letters. */
import { useTranslation } from 'react-i18next';
import { dollarText } from '../../lib/currency.ts';

/** Dollars per million tokens, or per call; null = none. */
export interface TargetDollars {
  readonly input: number | null;
  readonly output: number | null;
  readonly call: number | null;
}

export function TargetPrice({ price: { input, output, call } }: { readonly price: TargetDollars }) {
  const { t } = useTranslation();
  const text =
    call !== null
      ? t('prices.targetCall', { price: dollarText(call) })
      : input === null
        ? t('prices.targetNone')
        : t('prices.targetTokens', { input: dollarText(input), output: dollarText(output ?? input) });
  return <span className="whitespace-nowrap text-ink-3 tabular-nums">{text}</span>;
}
