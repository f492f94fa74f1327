/** Models with dollars per million tokens: narrowed, compared, and changed by who may. */
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'wouter';
import { Empty } from '../../components/empty.tsx';
import { type Levels, useLevels } from '../../components/model-level.tsx';
import { BulkBar } from '../../components/table/bulk-bar.tsx';
import { DataTable } from '../../components/table/data-table.tsx';
import { useSelection } from '../../components/table/selection.ts';
import { copyOrShow } from '../../lib/copy.ts';
import { useNarrow } from '../../lib/narrow.ts';
import { useUser } from '../../lib/session.ts';
import { Compare } from './compare.tsx';
import { modelColumns, modelPath } from './model-columns.tsx';
import type { ModelView } from './model-rows.ts';
import { type Models, priceWith, usePricing } from './use-models.ts';

const noLevels: Levels = {};

export interface ModelsViewProps {
  readonly models: Models;
  /** Those of them that the address asks for. */
  readonly rows: readonly ModelView[];
  readonly bar: ReactNode;
}

export function ModelsView({ models, rows, bar }: ModelsViewProps) {
  const { t } = useTranslation();
  const narrow = useNarrow();
  const [, navigate] = useLocation();
  const pricing = useRef(usePricing());
  const [comparing, setComparing] = useState(false);
  const [selected, setSelected] = useSelection('');
  /** A visitor reads the table; what is done with several models is for users. */
  const chooses = useUser() !== null;
  const selection = { selected, onChange: setSelected };
  const picked = models.views.filter(({ id }) => selected.has(id));
  // What is typed is what the table of ratios holds: the price of a group of ratio 1.
  const changes = models.mayPrice && models.ratio === 1;
  const levels = useLevels(!models.admin).data ?? noLevels;
  const columns = useMemo(
    () =>
      modelColumns({
        t,
        admin: models.admin,
        narrow,
        levels,
        onPrice: changes
          ? (row, part, dollars) => void pricing.current.store({ [row.model]: priceWith(row, part, dollars) })
          : undefined,
      }),
    [t, models.admin, narrow, levels, changes],
  );
  return (
    <>
      <DataTable
        caption={t('nav.pricing')}
        rows={rows}
        columns={columns}
        list={models}
        {...(chooses ? { selection } : {})}
        onOpen={(row) => navigate(modelPath(row.model))}
        storeKey={chooses ? 'models-table-columns' : ''}
        dense
        blank={models.views.length === 0}
        bar={bar}
        empty={
          <Empty text={models.views.length === 0 ? t('pricing.empty') : t('pricing.noMatch')}>
            {models.admin && models.views.length === 0 ? (
              <Link href="/channel/add" className="button button-primary">
                {t('channels.add')}
              </Link>
            ) : null}
          </Empty>
        }
      />
      <BulkBar selection={selection} matching={new Set(rows.map(({ id }) => id))}>
        <button
          type="button"
          className="button button-ghost text-accent-text"
          disabled={picked.length < 2}
          onClick={() => setComparing(true)}
        >
          {t('pricing.compare')}
        </button>
        <button
          type="button"
          className="button button-ghost"
          onClick={() => copyOrShow(picked.map(({ model }) => model).join(','))}
        >
          {t('pricing.copyNames')}
        </button>
      </BulkBar>
      {comparing && picked.length > 1 ? <Compare models={picked} onClose={() => setComparing(false)} /> : null}
    </>
  );
}
