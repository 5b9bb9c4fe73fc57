/* Products of rows with a matrix that was packed beforehand.
 *
 * Columns lie in panels of COLUMNS, `[panels, inner, COLUMNS]`, zeros beyond the last column. Every
 * number is the sum over `inner` in its order, whatever other rows and columns there are: a row
 * keeps its bits among any others.
 */
#include "vectors.h"

#define COLUMNS 16
#define PARTS (COLUMNS / LANES)
#define ROWS 6 /* that fill the registers of AVX2, with two vectors each */

/* `rows` rows with one panel; `real` columns are stored, with `add` where it is given. */
static inline __attribute__((always_inline)) void tile(int rows, const float *x, int64_t x_row,
                                                       int64_t inner, const float *panel,
                                                       const float *add, int64_t add_row,
                                                       float keep, float scale, float *result,
                                                       int64_t width, int64_t real) {
    vector sums[ROWS][PARTS];
    for (int row = 0; row < rows; row++)
        for (int part = 0; part < PARTS; part++) sums[row][part] = (vector){0};
    for (int64_t k = 0; k < inner; k++) {
        vector weights[PARTS];
        for (int part = 0; part < PARTS; part++) weights[part] = load(panel + k * COLUMNS + part * LANES);
        for (int row = 0; row < rows; row++) {
            const vector number = all(x[row * x_row + k]);
            for (int part = 0; part < PARTS; part++) sums[row][part] += number * weights[part];
        }
    }
    for (int row = 0; row < rows; row++)
        for (int part = 0; part < PARTS; part++) {
            const int64_t left = real - part * LANES;
            float *to = result + row * width + part * LANES;
            if (left >= LANES)
                store(to, sums[row][part] * scale);
            else if (left > 0)
                store_some(to, sums[row][part] * scale, left);
        }
    if (!add) return;
    /* Of two products that are summed either may be left unrounded. A compiler must not choose
     * otherwise for other numbers of rows: it does not see that what was stored is a product.
     */
    __asm__ volatile("" ::: "memory");
    for (int row = 0; row < rows; row++)
        for (int part = 0; part < PARTS; part++) {
            const int64_t left = real - part * LANES;
            float *to = result + row * width + part * LANES;
            const float *more = add + row * add_row + part * LANES;
            if (left >= LANES)
                store(to, load(to) + keep * load(more));
            else if (left > 0)
                store_some(to, load_some(to, left) + keep * load_some(more, left), left);
        }
}

/* Panels from first to last: keep add + scale (x matrix), `rows` rows of `inner` numbers to rows of
 * `width`. Rows of `add` may all be the same (add_row 0).
 */
void product(int64_t first, int64_t last, int64_t part, const float *x, int64_t x_row, int64_t rows,
             int64_t inner, const float *panels, const float *add, int64_t add_row, float keep,
             float scale, float *result, int64_t width) {
    (void)part;
    for (int64_t each = first; each < last; each++) {
        const float *panel = panels + each * inner * COLUMNS;
        const int64_t column = each * COLUMNS;
        const int64_t real = width - column < COLUMNS ? width - column : COLUMNS;
        int64_t row = 0;
#define TILE(count)                                                                               \
    tile(count, x + row * x_row, x_row, inner, panel, add ? add + row * add_row + column : 0,     \
         add_row, keep, scale, result + row * width + column, width, real)
        for (; row + ROWS <= rows; row += ROWS) TILE(ROWS);
        switch (rows - row) {
        case 5: TILE(5); break;
        case 4: TILE(4); break;
        case 3: TILE(3); break;
        case 2: TILE(2); break;
        case 1: TILE(1); break;
        default: break;
        }
#undef TILE
    }
}
