/** A greeting, on the first of January only. */
import { useTranslation } from 'react-i18next';
import { toast } from 'sonner';

export function NewYear() {
  const { t } = useTranslation();
  const today = new Date();
  if (today.getMonth() !== 0 || today.getDate() !== 1) return null;
  return (
    <button
      type="button"
      className="button button-ghost"
      onClick={() => toast.success(t('app.newYearWish', { year: today.getFullYear() }))}
    >
      {t('app.newYear')}
    </button>
  );
}
