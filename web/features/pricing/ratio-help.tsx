/** A picture of how ratios become a price. */
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Icon } from '../../components/icon.tsx';
import { Sheet } from '../../components/overlay.tsx';

const boxWidth = 132;

export function RatioHelp() {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  const steps = [
    ['$2 / 1M', t('pricing.helpUnit')],
    ['× 2.5', t('pricing.helpModel')],
    ['× 4', t('pricing.helpCompletion')],
    ['× 1', t('pricing.helpGroup')],
  ] as const;
  return (
    <>
      <button type="button" className="button button-icon" aria-label={t('pricing.help')} onClick={() => setOpen(true)}>
        <Icon name="help" />
      </button>
      {open ? (
        <Sheet title={t('pricing.help')} onClose={() => setOpen(false)}>
          <svg role="img" aria-label={t('pricing.helpText')} viewBox="0 0 140 330" className="mx-auto mb-4 h-80">
            {steps.map(([sum, label], at) => (
              <g key={label} transform={`translate(4 ${at * 66 + 2})`}>
                <rect width={boxWidth} height="46" rx="6" className="fill-sunken stroke-line-strong" />
                <text x={boxWidth / 2} y="19" textAnchor="middle" className="fill-ink-1 text-[13px] font-semibold">
                  {sum}
                </text>
                <text x={boxWidth / 2} y="36" textAnchor="middle" className="fill-ink-2 text-[10px]">
                  {label}
                </text>
                <path d={`M${boxWidth / 2} 48v14m-4-4 4 4 4-4`} className="fill-none stroke-ink-3" />
              </g>
            ))}
            <text x="70" y="290" textAnchor="middle" className="fill-ink-1 text-[13px] font-semibold">
              $5 → $20 / 1M
            </text>
          </svg>
          <p className="text-ink-2">{t('pricing.helpText')}</p>
        </Sheet>
      ) : null}
    </>
  );
}
