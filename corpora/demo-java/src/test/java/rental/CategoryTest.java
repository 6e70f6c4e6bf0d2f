package rental;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;

class CategoryTest {
    @Test
    void isFoundByItsName() {
        assertEquals(Category.CARGO, Category.named("cargo"));
        assertEquals(Category.CITY, Category.named(" City "));
    }

    @Test
    void isFoundByABeginning() {
        assertEquals(Category.TANDEM, Category.named("ta"));
    }

    @Test
    void isNotFoundByABeginningOfSeveral() {
        Exception error = assertThrows(IllegalArgumentException.class, () -> Category.named("t"));
        assertEquals("several categories begin with t", error.getMessage());
    }

    @Test
    void isNotFoundByOtherWords() {
        assertThrows(IllegalArgumentException.class, () -> Category.named("skates"));
        assertThrows(IllegalArgumentException.class, () -> Category.named(""));
    }

    @Test
    void hasALabelAndTakesSpace() {
        assertEquals("trekking bicycle", Category.TREKKING.label());
        assertEquals("city bicycle", Category.CITY.label());
        assertEquals("cargo bicycle", Category.CARGO.label());
        assertEquals("tandem", Category.TANDEM.label());
        assertEquals(3, Category.CARGO.space());
    }
}
